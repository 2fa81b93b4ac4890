"""Statistics: plain numbers in, plain numbers out; nothing here knows of files or records."""
