"""Tests of verifiers: what a new one changes, how one behaves, how often it is wrong."""
