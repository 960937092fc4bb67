"""Parts of the joiner ``workflows.locate``: sampling, forcing, scoring, and their tables."""
