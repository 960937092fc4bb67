"""Engine on Hugging Face transformers: any causal language model, sampled and scored."""
