"""Guards as the thing measured: which prompts a safety classifier calls harmful, and of which kind.

Their tasks are named ``refusalguard_<track>_<language>`` and have records, numbers and a command of their own, so that
nothing of them is ever in a rate of models that answer. `presets` says what a guard's words mean, `adapter` is what
lm_eval's task files name, `generated` writes those files, `runs` and `scoring` make numbers of a run.
"""
