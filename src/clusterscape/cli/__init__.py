"""The command line: one file per verb. Nothing heavy is imported before a verb starts to work.

``command`` joins the verbs, ``options`` declares what they share, ``inputs`` reads tables and
labels, ``output`` checks and writes files, ``console`` words messages and errors, ``signals`` ends
the command in good order.
"""

from __future__ import annotations


def main() -> None:
    """Run the command ``clusterscape``."""
    import atexit
    import gc
    import sys

    # The imports make a million objects that live to the end, and looking through them for garbage
    # takes a tenth of a short run.
    gc.set_threshold(50_000, 20, 20)
    # Nor need it be done once more at the end: what must be closed is closed by then.
    atexit.register(gc.freeze)
    from clusterscape.cli.signals import ended_cleanly

    with ended_cleanly():
        from clusterscape.cli.command import VERBS, command

        # A run of one verb needs no other; help and messages about unknown verbs need them all.
        named = [verb for verb in VERBS if sys.argv[1:2] == [verb]]
        try:
            command(named or VERBS)()
        except OSError as error:  # verbs word their own; this is the shell's completion
            from clusterscape.cli.console import sentence

            sys.exit(f"clusterscape: {sentence(error)}")
