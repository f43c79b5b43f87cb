# ruff: noqa: E501  (what people and agents say is not wrapped)
"""What the sample sessions tell: a few months of work of Ada's agents, written for the project.

They are what `muniment up --demo` shows and what the pictures of docs/viewer.md are made of. `sessions.py` writes them
as files of the agents.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

Step = tuple[Any, ...]


class Turn(Struct, frozen=True):
    """One prompt, what the agent did about it, and how it closed."""

    prompt: str
    steps: tuple[Step, ...]
    reply: str
    pause: float = 4
    """Minutes before the prompt."""
    image: str = ""


class Story(Struct, frozen=True):
    """One session."""

    start: str
    project: str
    title: str
    turns: tuple[Turn, ...]
    branch: str = "main"
    model: str = "claude-opus-4-6"
    agent: str = "claude"


def bash(command: str, output: str, failed: bool = False, what: str = "") -> Step:
    return ("Bash", {"command": command} | ({"description": what} if what else {}), output, failed)


def edit(path: str, old: str, new: str) -> Step:
    return ("Edit", {"file_path": path, "old_string": old, "new_string": new}, f"The file {path} has been updated.")


def put(path: str, content: str) -> Step:
    return ("Write", {"file_path": path, "content": content}, f"File created successfully at: {path}")


def look(path: str, content: str) -> Step:
    return ("Read", {"file_path": path}, content)


def grep(pattern: str, output: str) -> Step:
    return ("Grep", {"pattern": pattern, "path": "src", "output_mode": "content"}, output)


def todo(*entries: tuple[str, str]) -> Step:
    todos = [{"content": text, "status": status, "activeForm": text} for text, status in entries]
    return ("TodoWrite", {"todos": todos}, "Todos have been modified successfully.")


def shell(command: str, output: str) -> Step:
    return ("exec_command", {"cmd": command}, f"Exit code: 0\n{output}")


def commit(message: str) -> Step:
    return bash(f'git commit -am "{message}"', f"[main 3f2a1bc] {message}\n 3 files changed", what="Commit")


SKETCH = (
    "iVBORw0KGgoAAAANSUhEUgAAAKAAAABgCAAAAAC/TCZFAAAAz0lEQVR42u3WNw4CMRRF0VkOa2LFFJNzznl2QEXB0CEhGvi27ute"
    "Yx1Z/raNu/AYAAECBAgQIECAAAFqDbx8yNcLBr7vea7rOLZtWaYpB5jEcRSFYSAOWOR5lqVpIg7Y1HVVlWUhDjj0fde1bSMOuMzz"
    "NI3jIA547Pu2resiFih+B5U5g8pMsTL34K9ekmeubyLqNwMQIECAAAECBAgQIECAAAECBAgQIECAAAECBAgQIECAAAECBKgZ8Ham"
    "PCOtA9QfKBX26gD1BzLFAP/cH7xuUFDczersAAAAAElFTkSuQmCC"
)
"""A lamp on a tower."""

LAMP = "/home/ada/lighthouse"
API = "/home/ada/harbour-api"
TIDE = "/home/ada/tide-tables"

STORIES: tuple[Story, ...] = (
    Story(
        "2026-01-12T09:05:00",
        "tide-tables",
        "Plan for tide predictions without the network",
        (
            Turn(
                "Plan the work to compute tide tables offline. Break it down into milestones, please.",
                (
                    ("think", "What is there: the constants of the ports, a client for the old service, no model."),
                    bash("ls src", "client.py\nports.json\nshow.py", what="What is there"),
                    todo(
                        ("Read the harmonic constants of a port", "in_progress"),
                        ("Sum the constituents for a date", "pending"),
                        ("Compare with the tables of last year", "pending"),
                    ),
                    put(
                        f"{TIDE}/docs/plan.md",
                        "# Plan\n\n1. Constants\n2. Sum of constituents\n3. Comparison\n4. Command line\n",
                    ),
                ),
                "The plan has four milestones and is written to `docs/plan.md`. Constants come first, because all else "
                "needs them.\n\nNext steps:\n- read the constants of all 61 ports\n- find tables of last year to compare with",
            ),
            Turn(
                "Let's use the eleven largest constituents instead of all 37. Keep the rest for later.",
                (
                    edit(f"{TIDE}/docs/plan.md", "2. Sum of constituents", "2. Sum of the eleven largest constituents"),
                    commit("Plan: eleven constituents first"),
                ),
                "The plan now says eleven constituents. That is good to about five centimetres for these ports.",
                6,
            ),
            Turn(
                "Good. Write down in the plan why, with the figures.",
                (
                    edit(f"{TIDE}/docs/plan.md", "3. Comparison", "3. Comparison (target: five centimetres)"),
                    commit("Plan: say why eleven are enough"),
                ),
                "Added the reason and the target of five centimetres to `docs/plan.md`. [claude:opus::Wren]",
                3,
            ),
        ),
        model="claude-sonnet-4-5",
    ),
    Story(
        "2026-01-21T13:40:00",
        "tide-tables",
        "Harmonic sum of tide constituents",
        (
            Turn(
                "Implement the sum of constituents from the plan: add a function that predicts the height at a time.",
                (
                    look(f"{TIDE}/docs/plan.md", "# Plan\n\n1. Constants\n2. Sum of the eleven largest constituents\n"),
                    put(
                        f"{TIDE}/src/predict.py",
                        "from math import cos, radians\n\n\ndef height(constants, hours):\n"
                        '    """Metres above chart datum."""\n'
                        "    return sum(c.amplitude * cos(radians(c.speed * hours - c.phase)) for c in constants)\n",
                    ),
                    put(f"{TIDE}/tests/test_predict.py", "def test_high_water_of_a_known_day():\n    ...\n"),
                    bash("pytest -q", "F\n1 failed in 0.11s", True),
                    ("think", "Off by the hour of the epoch: the tables count from the first of January, local time."),
                    edit(
                        f"{TIDE}/src/predict.py",
                        "def height(constants, hours):",
                        "def height(constants, hours, epoch=0.0):",
                    ),
                    bash("pytest -q", "..\n2 passed in 0.12s"),
                    commit("Predict heights from eleven constituents"),
                ),
                "Implemented `height` in `src/predict.py`; it agrees with the printed table of Brest within four centimetres.",
            ),
            Turn(
                "Show me the difference for a spring tide as a table.",
                (
                    bash(
                        "python -m show --port brest --day 2026-03-20",
                        "06:12  6.91 m  printed 6.95\n12:24  0.88 m  printed 0.85",
                    ),
                ),
                "| time | computed | printed |\n| --- | ---: | ---: |\n| 06:12 | 6.91 m | 6.95 m |\n| 12:24 | 0.88 m | 0.85 m |\n\n"
                "The difference is four centimetres at high water and three at low water.",
                12,
            ),
            Turn(
                "Great. Now add the command line: a day and a port, and it prints the four extremes.",
                (
                    put(f"{TIDE}/src/cli.py", "import sys\n\nfrom predict import extremes\n\n\ndef main():\n    ...\n"),
                    bash("pytest -q", "....\n4 passed in 0.15s"),
                    commit("Add the command line"),
                    bash("git push", "main -> main"),
                ),
                "Added `tide PORT DAY`; it prints the four extremes of a day.\n\nRemaining:\n- ports with a double high water "
                "(Southampton) are still wrong",
                8,
            ),
        ),
        model="claude-opus-4-6",
    ),
    Story(
        "2026-02-03T10:10:00",
        "harbour-api",
        "Review of the berth booking change",
        (
            Turn(
                "Review the pull request for berth booking. Is everything ok with the locking?",
                (
                    bash("git diff main --stat", " src/berths.py | 48 ++++\n src/db.py | 12 +-", what="What changed"),
                    look(
                        f"{API}/src/berths.py",
                        "def book(berth, ship):\n    if is_free(berth):\n        insert(berth, ship)\n",
                    ),
                    grep("is_free", "src/berths.py:2:    if is_free(berth):\nsrc/berths.py:31:def is_free(berth):"),
                    (
                        "think",
                        "Two requests can both see the berth free. The check and the insert must be one statement.",
                    ),
                ),
                "I found two problems in `src/berths.py`:\n\n1. **Race**: the check and the insert are separate, so two ships can "
                "book one berth.\n2. `is_free` ignores bookings that begin later on the same day.\n\nThe rest is sound.",
            ),
            Turn(
                "Let's use a unique constraint rather than a lock. Can you show how that would look?",
                (
                    edit(
                        f"{API}/src/berths.py",
                        "    if is_free(berth):\n        insert(berth, ship)",
                        "    try:\n        insert(berth, ship)\n    except IntegrityError:\n        raise Taken(berth)",
                    ),
                    bash("pytest -q tests/test_berths.py", "......\n6 passed in 0.84s"),
                ),
                "The constraint now does the work: two bookings at once give one berth and one `Taken`. Tests pass.",
                15,
            ),
            Turn(
                "Write the review comment for the author.",
                (bash("gh pr comment 41 --body-file review.md", "https://example.org/pr/41#c7"),),
                "The comment is posted: constraint instead of lock, and the missing case of a later booking.\n\n"
                "Still open:\n- the author has to decide about bookings that span midnight",
                5,
            ),
        ),
        branch="berth-booking",
    ),
    Story(
        "2026-02-10T08:30:00",
        "harbour-api",
        "Design of the notification queue",
        (
            Turn(
                "How should we design the notifications for late ships? Propose options with their trade-offs.",
                (
                    (
                        "Task",
                        {
                            "description": "Survey queues",
                            "prompt": "Compare a table in PostgreSQL, Redis streams and a hosted queue for 200 messages a minute.",
                            "subagent_type": "general-purpose",
                        },
                        [
                            (
                                "WebSearch",
                                {"query": "SKIP LOCKED queue throughput"},
                                "Thousands of jobs a second on one server.",
                            ),
                            ("Read", {"file_path": f"{API}/docs/load.md"}, "Peak: 200 notifications a minute, in fog."),
                        ],
                        "At 200 messages a minute a table with SKIP LOCKED is enough; Redis would be a second thing to keep alive.",
                    ),
                    put(
                        f"{API}/docs/design/notifications.md",
                        "# Notifications\n\n| option | good | bad |\n| --- | --- | --- |\n| table | nothing new | polling |\n"
                        "| Redis | fast | one more server |\n",
                    ),
                ),
                "Three options are in `docs/design/notifications.md`. I would take the table: nothing new has to run.",
            ),
            Turn(
                "Let's go with the table, and never send twice: the receiver cannot take duplicates.",
                (
                    edit(
                        f"{API}/docs/design/notifications.md",
                        "# Notifications",
                        "# Notifications\n\nDecided: a table, at most once.",
                    ),
                ),
                "Written down: a table, at most once, with a key per ship and hour. We decided against retries after the first send.",
                9,
            ),
            Turn(
                "What do you think about fog days, when everything is late?",
                (("say", "Then one message per ship is noise."),),
                "On fog days one summary per berth would say more than forty messages. That is an idea for later, not for the "
                "first version.\n\nNext steps:\n- ask the harbour office how many messages they read on a fog day",
                7,
            ),
        ),
        model="claude-opus-4-6",
    ),
    Story(
        "2026-02-24T14:00:00",
        "lighthouse",
        "Flaky lamp test",
        (
            Turn(
                "The lamp test fails about once in ten runs on CI. Please fix it.",
                (
                    bash("pytest -q tests/test_lamp.py --count 20", "..F....F............\n2 failed, 18 passed", True),
                    look(
                        f"{LAMP}/tests/test_lamp.py",
                        "def test_turns():\n    lamp.start()\n    time.sleep(0.1)\n    assert lamp.turns == 1\n",
                    ),
                    (
                        "think",
                        "A race between the motor thread and the assertion: wait for the event instead of a time.",
                    ),
                    edit(f"{LAMP}/tests/test_lamp.py", "    time.sleep(0.1)\n", "    lamp.turned.wait(5)\n"),
                    bash("pytest -q tests/test_lamp.py --count 200", "200 passed in 4.1s"),
                    commit("Wait for the turn, not for a time"),
                    bash("git push", "main -> main"),
                ),
                "Fixed: the test waits for the event of the motor. 200 runs pass.",
            ),
            Turn(
                "Are there more tests that sleep?",
                (
                    grep(
                        "time.sleep", "tests/test_fog.py:12:    time.sleep(2)\ntests/test_radio.py:8:    time.sleep(1)"
                    ),
                ),
                "Two more: `test_fog.py` and `test_radio.py`. Would you like me to change them the same way?",
            ),
            Turn(
                "Yes, both.",
                (
                    edit(f"{LAMP}/tests/test_fog.py", "    time.sleep(2)\n", "    horn.sounded.wait(5)\n"),
                    edit(f"{LAMP}/tests/test_radio.py", "    time.sleep(1)\n", "    radio.heard.wait(5)\n"),
                    bash("pytest -q", "48 passed in 3.0s"),
                    commit("No test sleeps any more"),
                ),
                "Both wait for their events now, and the suite takes three seconds instead of nine. [claude:opus::Reed]",
                2,
            ),
        ),
    ),
    Story(
        "2026-03-04T09:20:00",
        "almanac",
        "One module for dates",
        (
            Turn(
                "The date helpers are copied into four modules. Refactor: move them to one place and rename what is unclear.",
                (
                    grep(
                        "def to_julian",
                        "src/sun.py:4:def to_julian(d):\nsrc/moon.py:9:def to_julian(d):\nsrc/stars.py:2:def jd(d):",
                    ),
                    put("/home/ada/almanac/src/dates.py", "def julian_day(moment):\n    ...\n"),
                    edit(
                        "/home/ada/almanac/src/sun.py", "from .util import to_julian", "from .dates import julian_day"
                    ),
                    edit(
                        "/home/ada/almanac/src/moon.py", "from .util import to_julian", "from .dates import julian_day"
                    ),
                    bash("pytest -q", "31 passed in 0.6s"),
                    commit("One module for dates"),
                ),
                "Moved the four copies into `src/dates.py`; `to_julian` and `jd` are `julian_day` now. 31 tests pass.",
            ),
            Turn(
                "Please remove the dead code that is left in util.",
                (
                    bash("git grep -n util", "src/util.py:1:# dates"),
                    bash("git rm src/util.py", "rm 'src/util.py'"),
                    commit("Remove the empty module"),
                ),
                "Removed `src/util.py`: nothing used it any more.",
                3,
            ),
            Turn(
                "Now the README: document how to add a new body, please.",
                (
                    put(
                        "/home/ada/almanac/README.md",
                        "# Almanac\n\n## Adding a body\n\nOne module, one function `position`.\n",
                    ),
                    commit("README: how to add a body"),
                ),
                "Wrote the section on adding a body to the README, with an example.",
                14,
            ),
        ),
        model="claude-sonnet-4-5",
    ),
    Story(
        "2026-03-11T16:15:00",
        "harbour-api",
        "Release 2.4 to the harbour office",
        (
            Turn(
                "Deploy release 2.4 to staging and then to production.",
                (
                    todo(("Build the image", "completed"), ("Staging", "in_progress"), ("Production", "pending")),
                    bash("make image TAG=2.4", "harbour-api:2.4 built", what="Build the image"),
                    bash("make deploy ENV=staging", "staging: 2.4 is healthy"),
                    bash("make smoke ENV=staging", "12 passed"),
                ),
                "Version 2.4 is on staging and healthy; the twelve smoke tests pass.",
            ),
            Turn(
                "Go on with production.",
                (bash("make deploy ENV=production", "error: approval of the harbour office is missing", True),),
                "Production refuses the release: I am waiting for approval of the harbour office, and cannot proceed without it.\n\n"
                "Next steps:\n- get the approval for 2.4\n- deploy to production on a weekday morning",
                5,
            ),
            Turn(
                "I have asked them. What do we do meanwhile?",
                (bash("make status", "staging 2.4\nproduction 2.3"),),
                "Nothing is lost: production stays on 2.3. The rollout is blocked until the approval comes.",
                20,
            ),
        ),
        branch="release/2.4",
        model="claude-opus-4-6",
    ),
    Story(
        "2026-03-26T11:00:00",
        "lighthouse",
        "Lamp colours on the dashboard",
        (
            Turn(
                "Build the dashboard page for the lamp, like in this sketch.",
                (
                    put(
                        f"{LAMP}/web/dashboard.html",
                        '<main>\n  <h1>Lamp</h1>\n  <output id="turns"></output>\n</main>\n',
                    ),
                    put(f"{LAMP}/web/dashboard.css", "main { max-width: 60ch }\n"),
                    bash("npm test", "9 passed"),
                    commit("Dashboard of the lamp"),
                ),
                "Built the dashboard as in the sketch: the lamp above, its turns below. Nine tests pass.",
                image=SKETCH,
            ),
            Turn(
                "The red is hard to read in the dark. Change it.",
                (
                    edit(
                        f"{LAMP}/web/dashboard.css",
                        "main { max-width: 60ch }",
                        "main { max-width: 60ch }\n.red { color: #ff8a80 }",
                    ),
                    commit("A red that can be read at night"),
                ),
                "Changed the red to one with a contrast of 7 to 1 on black.",
                9,
            ),
            Turn(
                "Now add a page for the fog horn too.",
                (
                    ("think", "Same shape as the lamp; the horn needs its pattern of blasts."),
                    look(f"{LAMP}/src/horn.py", "PATTERN = (2, 3, 2, 53)\n"),
                    put(f"{LAMP}/web/horn.html", "<main>\n  <h1>Fog horn</h1>\n</main>\n"),
                    bash("npm test", "1 failed, 9 passed", True),
                ),
                "Let me look at why the pattern is not shown:",
                11,
            ),
        ),
        branch="dashboard",
    ),
    Story(
        "2026-04-14T08:45:00",
        "harbour-api",
        "Open issues before the season",
        (
            Turn(
                "Go through the open issues and triage them: which ones must be done before the season?",
                (
                    bash(
                        "gh issue list --limit 40",
                        "#12 berths overlap\n#19 slow search\n#23 typo\n#27 wrong time zone\n#31 export",
                        what="Open issues",
                    ),
                    bash("gh issue view 27", "Arrivals after midnight are shown a day early."),
                    ("think", "27 loses money. 12 is the race we know. The rest can wait."),
                ),
                "Of the five, two must be done before the season: #27 (wrong day after midnight) and #12 (overlap). The others can wait.",
            ),
            Turn(
                "Let's do 27 first and skip the export.",
                (bash("gh issue edit 27 --add-label season", "labelled"), bash("gh issue close 31", "closed")),
                "Labelled #27 for the season, closed #31 with a word to its author.",
                4,
            ),
            Turn(
                "Hand off the fix of 27 to the night shift; it will continue in another session.",
                (bash("gh issue comment 27 --body 'See arrivals.py, function local_day.'", "commented"),),
                "The handover note is under the issue.\n\nNext steps:\n- fix `local_day` for arrivals after midnight",
                6,
            ),
        ),
        model="claude-sonnet-4-5",
    ),
    Story(
        "2026-04-14T22:10:00",
        "harbour-api",
        "Arrivals after midnight",
        (
            Turn(
                "Fix issue 27: arrivals after midnight are shown a day early. The handover note says where.",
                (
                    shell("gh issue view 27 --comments", "See arrivals.py, function local_day."),
                    shell("sed -n 1,20p src/arrivals.py", "def local_day(moment):\n    return moment.date()"),
                    shell("pytest -q tests/test_arrivals.py", "1 failed, 7 passed"),
                    shell("git apply fix.patch && pytest -q tests/test_arrivals.py", "8 passed"),
                    shell('git commit -am "Arrivals count in harbour time"', "[main 91ab]"),
                ),
                "Fixed: `local_day` counts in harbour time now, and eight tests pass.",
            ),
            Turn(
                "Is the same mistake elsewhere?",
                (shell("rg -n '\\.date\\(\\)' src", "src/reports.py:44:    return moment.date()"),),
                "Once more, in `reports.py` line 44: the monthly report counts late arrivals to the wrong day.",
            ),
            Turn(
                "Fix it too.",
                (
                    shell("git apply reports.patch && pytest -q", "64 passed"),
                    shell('git commit -am "Reports count in harbour time"', "[main 92ab]"),
                    shell("git push", "main -> main"),
                ),
                "Fixed in `reports.py`; all 64 tests pass and both commits are pushed.",
            ),
        ),
        agent="codex",
        model="gpt-5-codex",
    ),
    Story(
        "2026-04-30T10:30:00",
        "tide-tables",
        "Why Southampton has two high waters",
        (
            Turn(
                "Research: why does Southampton have two high waters, and what is missing in our model?",
                (
                    (
                        "Task",
                        {
                            "description": "Shallow water tides",
                            "prompt": "Explain the double high water of Southampton and which constituents describe it.",
                            "subagent_type": "general-purpose",
                        },
                        [
                            (
                                "WebSearch",
                                {"query": "double high water M4 M6 constituents"},
                                "Quarter-diurnal constituents grow in shallow water.",
                            )
                        ],
                        "Shallow water makes overtides: M4 and M6. Without them a model shows one high water.",
                    ),
                    look(f"{TIDE}/src/ports.json", '{"southampton": {"M2": [1.36, 325], "S2": [0.41, 8]}}'),
                    bash("python -m show --port southampton --residuals", "rms 0.31 m"),
                ),
                "The cause is shallow water: M2 grows overtides, M4 and M6, and our eleven constituents have neither. "
                "With both the error falls from 31 to 7 centimetres.",
            ),
            Turn(
                "Compare that with the full set of 37.",
                (bash("python -m show --port southampton --all", "rms 0.06 m"),),
                "All 37 give six centimetres: M4 and M6 alone do nearly all of it.",
                6,
            ),
            Turn(
                "Then we should add M4 and M6 and nothing else.",
                (
                    edit(
                        f"{TIDE}/src/ports.json",
                        '"S2": [0.41, 8]',
                        '"S2": [0.41, 8], "M4": [0.26, 63], "M6": [0.06, 99]',
                    ),
                    bash("pytest -q", "19 passed"),
                    commit("Overtides for shallow ports"),
                    ("compact", "Summary: M4 and M6 were added for shallow ports; nineteen tests pass."),
                ),
                "Added M4 and M6 for the seven shallow ports. Southampton has its two high waters.",
                4,
            ),
        ),
        model="claude-opus-4-6",
    ),
    Story(
        "2026-05-19T13:10:00",
        "almanac",
        "A printed almanac",
        (
            Turn(
                "Write a guide for the printed almanac: what each column means.",
                (
                    put(
                        "/home/ada/almanac/docs/guide.md",
                        "# Reading the almanac\n\n- **Rise**: upper limb on the horizon\n",
                    ),
                    commit("Guide to the printed almanac"),
                ),
                "Wrote `docs/guide.md`; each column has one sentence and an example.",
            ),
            Turn(
                "Let's try to typeset it with TeX.",
                (bash("pdflatex almanac.tex", "! LaTeX Error: File `longtable.sty' not found.", True),),
                "This machine has no `longtable`. HTML with a print style would need nothing new.",
                7,
            ),
            Turn(
                "Never mind, we drop the printed version this year.",
                (),
                "Then the guide stays as it is, and nothing else changes.",
                16,
            ),
        ),
        model="claude-sonnet-4-5",
    ),
    Story(
        "2026-06-02T07:55:00",
        "lighthouse",
        "Fog horn starts late",
        (
            Turn(
                "The fog horn starts forty seconds late since Monday. Investigate why.",
                (
                    bash("git log --oneline --since monday", "5ca1ab1 Read the sensor every minute\n0ddba11 Typo"),
                    bash("git show 5ca1ab1 -- src/sensor.py", "-    every(10)\n+    every(60)"),
                    ("think", "Commit 5ca1ab1 reads once a minute: on average thirty seconds late, at worst sixty."),
                ),
                "The cause is commit 5ca1ab1: the sensor is read once a minute instead of every ten seconds.",
            ),
            Turn(
                "Why was it changed?",
                (bash("git log -1 --format=%b 5ca1ab1", "The battery of the sensor lasts only a week."),),
                "To save the battery of the sensor, which lasted only a week.",
                2,
            ),
            Turn(
                "Let's read every ten seconds only when the humidity is above 90 percent.",
                (
                    edit(f"{LAMP}/src/sensor.py", "    every(60)", "    every(10 if humidity() > 90 else 60)"),
                    put(f"{LAMP}/tests/test_sensor.py", "def test_reads_often_in_damp_air():\n    ...\n"),
                    bash("pytest -q", "51 passed in 3.2s"),
                    commit("Read the sensor often when the air is damp"),
                ),
                "The horn starts within ten seconds again, and the battery lasts: damp hours are about one in five. [claude:opus::Reed]"
                "\n\nNext steps:\n- watch the battery for two weeks",
                5,
            ),
        ),
    ),
    Story(
        "2026-05-06T09:00:00",
        "lighthouse",
        "Which Python",
        (Turn("Which Python is this?", (bash("python --version", "Python 3.13.1"),), "Python 3.13.1."),),
        model="claude-sonnet-4-5",
    ),
)
