"""Samplers that mix policies: several checkpoints, mixed logits, an opening of another policy.

Every mix is a policy of its own, under a key made of its parts' contents and its numbers.
"""
