"""The static site: gathered from submissions, rendered once, readable without JavaScript."""
