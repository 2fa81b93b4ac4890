"""Published prompt sets: read from the hub when a user runs them, never shipped and never reached by a mere listing.

``tasks/ext/<set>.yaml`` of a pack says where a set lies and what its columns mean (`sets`). `items` makes items of
rows, `hub` fetches the rows, `adapter` is what lm_eval's task files name, `generated` writes those files.
"""
