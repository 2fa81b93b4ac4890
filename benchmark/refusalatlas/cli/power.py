"""`refusalatlas power`: what a number of seeds can show."""

from __future__ import annotations

import click


@click.command("power")
@click.option("--seeds", type=click.IntRange(1, 1_000_000), default=40, show_default=True, help="Seeds both answered.")
@click.option(
    "--discordance",
    type=click.FloatRange(0.01, 1.0),
    help="Share of seeds on which two models differ.  [default: 0.3, or --difference if larger]",
)
@click.option("--difference", type=click.FloatRange(0.001, 1.0), help="Difference of two rates you want to find.")
@click.option("--power", "wanted", type=click.FloatRange(0.5, 0.999), default=0.8, show_default=True)
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(seeds: int, discordance: float | None, difference: float | None, wanted: float, style: str) -> None:
    """Say what a number of seeds can show, and how many a difference needs (McNemar's exact test, two-sided, 5 %)."""
    from ..files import dumps
    from ..stats.intervals import MIN_CLUSTERS, wilson
    from ..stats.paired import detectable_difference, pairs_needed
    from ..wording import at_least_points, counted, percent, points

    discordance = max(0.3, difference or 0.0) if discordance is None else discordance
    if difference is not None and difference > discordance:
        raise click.BadParameter(f"cannot exceed the discordance {discordance}", param_hint="--difference")
    low, high = wilson(0.5, seeds)
    width = high - low if seeds >= MIN_CLUSTERS else None
    shown = detectable_difference(seeds, discordance, power=wanted)
    needed = pairs_needed(difference, discordance, power=wanted) if difference else None
    if style == "json":
        facts = {
            "seeds": seeds,
            "discordance": discordance,
            "power": wanted,
            "interval_width": width and round(width, 4),
        }
        click.echo(dumps(facts | {"detectable_difference": shown, "difference": difference, "seeds_needed": needed}))
        return
    if width is None:
        click.echo(f"{counted(seeds, 'seed')}: `score` gives no interval under {MIN_CLUSTERS} seeds.")
    else:
        click.echo(f"{seeds} seeds: a rate of one half has a 95 % interval {points(width)} wide.")
    told = "cannot be told apart" if shown is None else f"are told apart from {at_least_points(shown)} on"
    click.echo(f"Two models that differ on {percent(discordance)} of them {told} (power {percent(wanted)}).")
    if needed is not None and difference is not None:
        click.echo(f"A difference of {points(difference)} needs {counted(needed, 'seed')}.")
