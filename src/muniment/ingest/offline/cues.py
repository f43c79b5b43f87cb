"""The phrases by which people say what they want and agents say what they did, as lists that a reader can judge.

Alternatives stand on lines of their own or between bars. Every pattern is searched for in a few hundred characters at
most, and repeats are bounded, so that hostile text costs no more than other text.
"""

from __future__ import annotations

import re


def _any(phrases: str, before: str = r"\b", after: str = r"\b", flags: re.RegexFlag = re.IGNORECASE) -> re.Pattern[str]:
    """One pattern of many phrases."""
    lines = (line.strip() for line in phrases.strip().splitlines())
    return re.compile(f"{before}(?:{'|'.join(lines)}){after}", flags)


_THANKS = r"ok|okay|so|great|good|cool|perfect|nice|thanks|thank you|alright|right|and|done|excellent"
_WORK = r"feature|task|change|topic|item|issue|problem|project|question|idea|bug|request|feedback|subject|ticket"

OPENING = _any(
    rf"""
    \b(?:new|next|another|separate|different|unrelated|other) (?:\w+ )?(?:{_WORK})
    ^(?:\W*(?:{_THANKS})\b){{0,3}}\W*(?:now|next|separately|meanwhile)\b(?!\.\w| (?:that|it|the|this|is|are)\b)
    ^\W*(?:question|bug|feature|idea|task|issue|request) ?:
    \b(?:let'?s|let us|we can|can we|can you) now|\bnow (?:let'?s|let us|please|can (?:you|we))
    \blet'?s (?:tackle|start (?:on|with)|work on|focus on|talk about|get (?:started|going))
    \bwhile (?:we're|you're|i'm|we are|you are) (?:here|at it)
    \bmov(?:e|ing) on|\bswitch(?:ing)? gears|\b(?:turn|turning|back) to (?:the|my|our|main|master)
    \bbefore (?:we|you|i|jumping|going|continuing|moving)
    \bin passing|\bby the way|\bbtw|\bi (?:just )?(?:realized|realised|noticed)
    \bforgot to|\bhold (?:up|on)|\bone (?:more |other )?thing
    \bsomething (?:else|different)|\bunrelated|\bon (?:another|a different) (?:note|topic|subject)
    \bcheck ?out (?:main|master)|\bpull (?:the )?latest
    """,
    before="",
)
"""Turning to something else."""

POINTING = _any("it|its|it's|this|that|these|those|them|they|above|you|your")
"""Among the first words: the prompt leans on what came before."""

FOLLOWING = _any(
    r"""
    (?:do|does|did|is|was|wo|ca|should)n['’]?t|cannot|no|nope|not|should
    still|again|same|too|also|as well|and|but|why|instead|rather|actually
    wrong|broken?|missing|missed|fix|revert|undo|wait|stop|sorry|hmm+|weird
    """,
    before=r"(?<![\w'’])",
    after=r"(?![\w'’])",
)
"""Among the first words: the prompt corrects, objects to or adds to what was just done."""

_ASKING = (
    r"ok(?:ay)?|so|hey|hi|and|great|now|please|claude|let'?s|can|could|would|will|you|we|u|i|want|need|like|to|d|have"
    r"|help|me"
)
REQUEST = _any(
    """
    create|add|write|implement|build|update|make|generate|find|investigate|review|remove|rename|change|improve|set
    support|help|analy[sz]e|refactor|redesign|move|migrate|use|look|fix|adjust|rework|check|examine|propose|explain
    plan|design|try|run|test|document|convert|replace|install|configure|clean|merge|release|deploy|publish|research
    compare|figure|show|list
    """,
    before=rf"^\W*(?:(?:{_ASKING})\W+){{0,8}}",
)
"""A prompt that asks for something to be done, in its first words."""

ASSENT = _any(
    r"""
    y(?:es|eah|ep|up)?|no(?:pe)?|ok(?:ay)?|sure|right|great|good|perfect|nice|cool|thanks?|thank you|excellent
    exactly
    lgtm|please|pls|just|then|looks good|sounds good|go(?: ahead| on)?|do (?:it|that|both|all)(?: for me)?
    continue|proceed
    fix(?: it| all| both| them)?|commit|push|merge|retry|try again|option|hold (?:up|on)|wait|stop|are you stuck
    and|it|this|that|now|all|both|them|\w
    """,
    before=r"^\W*(?:",
    after=r"\b\W*){1,8}$",
)
"""A turn that only answers: nothing in it says what the work is."""

HOUSEKEEPING = _any(
    r"(?:go back to|check ?out|switch to|pull|sync|rebase on) (?:main|master|the latest|latest)",
    before=r"^\W*(?:(?:ok(?:ay)?|please|now)\W+){0,2}",
)
"""A turn that makes the place ready for work: it says nothing about the work."""

_METHODS = {
    "review": r"""
        review(?!er)|audit|adversarial|second opinion|critique|health check|is everything ok|look over|lgtm
        code quality|findings|sanity check|double[- ]check|assess|feedback on (?:my|the|this)
        any (?:issues|problems|concerns) with""",
    "write": r"""
        readme|docs?\b|documentation|document\b|changelog|blog|article|paper|essay|wording|reword|prose
        write-?up|guide
        tutorial|template|claude\.md|agents\.md|release notes|copy\b|paragraph|chapter|init\b|proofread|translat
        contributing|write (?:a|an|the|me) (?:\w+ )?(?:post|report|summary|section|description|letter|story)""",
    "design": r"""
        design|brainstorm|architect|propos|how (?:c|sh|w)ould we|approach|options?\b|schema|shape|trade-?offs?
        spec\b|rfc|adr\b|think (?:it |this )?through|how should|mock-?up|data model|wireframe|prototype""",
    "reorg": r"""
        refactor|rename|renaming|reorgani[sz]|restructur|clean ?up|tidy|dedup|simplif|merge conflicts?|rebase|squash
        rework the commits|unused|dead code|redundant|flatten|extract (?:in)?to|split (?:in)?to|move (?:\S+ ){1,4}to
        consolidate|amend|commit message|pending changes|uncommitted|consisten|naming|obsolete|monorepo
        (?:bring|fold|group|pull) (?:\S{1,40} ){1,8}into""",
    "triage": r"""
        triage|feedback|pr comments?|review comments?|comments? on|prioriti[sz]|backlog|open issues
        which (?:ones|of these)|go through|sort out|tickets|categori[sz]e""",
    "debug": r"""
        fix(?! (?:the |up |all )?(?:merge )?conflicts?| typos?)|bug|\w{0,40}errors?\b|fail|broken?\b|breaks|crash
        not (?:work|visible|correct|show|render|found|load|updat|respond|appear)|any ?more|any idea why|weird|strange
        (?:don'?t|do not|didn'?t) see|never saw|shouldn'?t|should (?:still|not|never)|regression
        (?:this|an|the) (?:\w{1,40} )?(?:issue|problem)|doesn'?t|does not|isn'?t|wrong|investigate|stack ?trace
        traceback|\w{0,40}exception|vulnerab|inject|leak|hang|stuck|flak(?:y|i)
        race condition|root cause|what'?s the problem|slower|silently|incorrect|unexpected|deadlock|panic
        risks?\b|causes?\b|worked (?:once|before)|lost\b|never (?:actually )?work|troubleshoot|diagnos|debug
        no longer|nothing happens|can'?t (?:get|find|see|connect|open|run|log)""",
    "deploy": r"""
        deploy|releas|publish|ci\b|pipeline|workflow|docker|kubernetes|terraform|production|staging|rollout
        branch protection|protected? main|dev branch|set ?up (?:the )?(?:repo|environment|server)|npm publish|pypi
        hosting|github actions?|start (?:the )?(?:server|service|dashboard)|spin up""",
    "research": r"""
        explain|how do(?:es)?|what (?:is|are|does|happens|would|value|data)|why (?:is|does|do|are|did)|compare
        difference
        find (?:out|models|a|an|the)|look into|explore|research|analy[sz]|understand|which (?:data|is|are)
        where (?:is|are)|is there a|investigate how""",
    "plan": r"""
        plan\b|roadmap|milestones?|steps to|break (?:it |this )?down|next steps?|estimate|schedule|task list|outline
        action items""",
    "build": r"""
        implement|add\b|create|build|feature|support|make (?:it|the|a)|change|remove|replace|show|allow|update
        improve
        write (?:a|the) (?:program|script|function|test|command|tool)|redesign|migrate|integrate|generate|notebook
        new command|moderni[sz]e|extend|introduce|enable|set up|configure|port\b|wire
        i (?:want|need|'d like|would like) (?:an?|to)\b""",
    "discuss": r"""
        opinion|think\?|thoughts|strengths|weak(?:ness| points)|pros and cons|what do you think|discuss|agree|idea
        let'?s talk|devil'?s advocate""",
}
HISTORY = _any("merge conflicts?|rebase|squash|cherry-?pick|rework the commits")
"""Work on what was committed: named so, it is nothing else."""

CAUSE = _any(r"root cause|the (?:bug|culprit)|regression|the (?:problem|issue|error|cause) (?:is|was)")
"""An agent reports why something went wrong."""

METHODS = {name: _any(phrases, r"(?<![\w/-])", "", re.NOFLAG) for name, phrases in _METHODS.items()}
"""What people call the kinds of work; to be looked for in lower case, which is several times faster."""

POLITE = _any(
    r"""
    (?:ok(?:ay)?|so|hey|hi|hello|and|but|also|great|cool|nice|perfect|good deal|alright|thanks)\b[\s,.!:;-]{0,9}
    (?:hmm|oh|ah|yes|yeah|yep|no|well|now|then|please|claude|buddy|quick|question|brainstorm)\b[\s,.!:;-]{0,9}
    (?:can|could|would|will) (?:you|we|u)(?: please)?(?: also)?\s+|i(?:'d| would) like (?:you )?to\s+
    i'd like your help with\s+|i (?:want|need) (?:you )?to\s+|(?:we|you) (?:need|have|want) to\s+
    let'?s(?: also| now)?\s+|let us\s+|help me(?: to)?\s+|please\s+|make sure (?:that )?
    i think (?:that )?(?:we should )?
    """,
    before="^",
    after="",
)
"""What stands before a request and says nothing."""

_SO = r"^(?:(?:ok|okay|yes|yeah|no|so|then|and|but|exactly|please)\W+){0,3}"
DECIDED = _any(
    rf"""
    {_SO}let'?s (?:go with|use|do|keep|rename|only|just|not|drop|skip|stick|make|set|bump|call)
    {_SO}(?:go (?:ahead )?with|keep|skip|drop|call it|rename|use|only|don'?t|do not|never|always)
    \bi(?:'d)? (?:prefer|favou?r|choose|don'?t want)|\binstead of|\brather than|^option \w
    ^(?:so |then )?we (?:should(?:n'?t)?|don'?t|won'?t|will|must|never|always|are (?:not )?going to)
    """,
    before="",
)
"""A person settles something."""

CHOSE = _any(
    r"we decided|decided (?:to|on|against)|(?:we|i) (?:chose|went with)|settled on|opted (?:for|to)|agreed (?:to|on)"
)
"""An agent reports that something was settled."""

RESULT = _any(
    r"""
    added|fixed|removed|created|updated|renamed|implemented|committed|pushed|merged|opened|replaced|moved
    resolved|built|wrote
    changed|cleaned|verified|released|deployed|installed|applied|rewrote|refactored
    now (?:\w+s|in|on|uses?|works?)|works?|pass(?:es)?
    completed?|finished|migrated|split|extracted|reverted|done|ready|found|confirmed|caused by
    the (?:cause|problem|issue) (?:is|was)
    """
)
"""A sentence that tells a result."""

STARTING = _any(
    r"""
    let me|now(?:,)? (?:let me|i)|i'll|i will|i need to|i should|first|good (?:point|question|catch)
    you'?re (?:absolutely )?(?:right|welcome)
    looking at|here(?:'s| is| are)|sure|great question|sorry|i see|understood|no response requested|key|usage
    note|try|run|want
    to (?:use|run|test)|what would you|nothing else|before|would|if you|before|example|for example
    """,
    before="^",
)
"""A sentence that announces, or speaks to the person."""

ANY = re.compile("")

EXCLAIMED = re.compile(
    r"^(?:done|perfect|excellent|great|all (?:done|set|clean|green)|success|completed?|fixed|yes|no|summary|okay)"
    r"[\s.!:,—-]+(?!of\b|in\b|on\b|for\b)",
    re.IGNORECASE,
)
OFFER = re.compile(r"^(?:would you like me to|do you want me to|want me to|shall i|should i)\s+", re.IGNORECASE)
LEFT = _any(
    r"""
    next steps?|to ?do|remaining(?: work| items)?|follow-?ups?|still (?:open|to do|uncommitted|missing)
    what'?s (?:left|next)
    """,
    before=r"^\W*",
)
"""A line above a list of what is left to do."""

HANDED = _any(
    r"hand(?:ing)?[- ]?(?:off|over)\b.{0,40}\b(?:to|for|next|another)|continue in (?:a )?(?:new|another) session"
)
DROPPED = _any(
    r"never ?mind|forget (?:it|about)|drop (?:it|this)|abandon|scrap (?:it|this|that)|let'?s not", before=r"^\W*"
)
BLOCKED = _any(
    r"""
    (?:usage|rate) limit|quota|blocked (?:on|by|until)|cannot proceed
    waiting (?:for|on) (?:access|approval|credentials)
    """
)
UNDERWAY = _any(r"let me|now let me|i'll|i will|let's|first,|next,|now i", before="^", after="")
