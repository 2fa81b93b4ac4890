"""`python -m refusalatlas`."""

from .cli import main

main()
