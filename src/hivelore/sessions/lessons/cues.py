"""Cues: words by which the classifier and the rules recognize what a sentence does in a conversation.

English, German, French, Spanish and Chinese. Each pattern is searched in one sentence, or in the beginning of a turn.
"""

import regex


def _cue(pattern: str) -> regex.Pattern[str]:
    return regex.compile(pattern, regex.IGNORECASE)


CUES = {
    "negation": _cue(
        r"\b(?:no|not|never|don'?t|doesn'?t|isn'?t|aren'?t|won'?t|can'?t|cannot|nothing|none|without|nor|nicht|kein\w*|"
        r"nie|niemals|ohne|pas|jamais|nunca|sin)\b|n't\b|不|别|没"
    ),
    "rule": _cue(
        r"\b(?:always|never|from now on|as a rule|rule|must|have to|has to|need to|needs to|only|every|each|remember|"
        r"whenever|in future|convention|policy|immer|nie|niemals|ab jetzt|ab sofort|muss|müssen|nur|jede[rsmn]?|"
        r"toujours|jamais|doit|siempre|nunca|debe|solo)\b|必须|总是|永远|以后|记住"
    ),
    "alternative": _cue(
        r"\b(?:instead|rather|use|uses|not the|but|statt(?:dessen)?|sondern|lieber|nimm|au lieu|plutôt|en vez|usa)\b|"
        r"而不是|改用"
    ),
    "cause": _cue(
        r"\b(?:because|since|cause[sd]?|due to|so that|therefore|that'?s why|which (?:gives|makes|means|causes|is why)|"
        r"reason|turns out|so it|weil|wegen|deshalb|daher|grund|ursache|parce|porque)\b|因为|所以|原因"
    ),
    "decision": _cue(
        r"\b(?:decided?|decision|then|let'?s|we(?:'ll| will)?\s+(?:use|keep|go|stay|move|do|take|map|record|request)|"
        r"go(?:ing)? with|settled|agreed|keep|stay|make it|set|put|take|drop|entschieden|bleibt|nehmen|machen wir|dann|"
        r"décid\w+|decidi\w+)\b|决定"
    ),
    "hedge": _cue(
        r"\b(?:maybe|probably|perhaps|could be|could|might|may|guess|hunch|suspect|possibl[ey]|likely|seems?|sounds?|"
        r"looks like|i think|not sure|unclear|don'?t know|no idea|untested|plausible|vielleicht|vermutlich|"
        r"wahrscheinlich|könnte|glaube|peut-être|quizá)\b|可能|也许|大概"
    ),
    "report": _cue(
        r"\b(?:done|added|renamed|removed|updated|fixed|changed|written|pushed|committed|created|passes|passed|passing|"
        r"works|green|tests? pass|finished|reverted|moved|erledigt|fertig|läuft|grün|hecho|fait)\b|完成"
    ),
    "plan": _cue(
        r"\b(?:i'?ll|i will|let me|i'?m going to|checking|looking|trying|shall i|should i|want me|do you want|"
        r"ich werde|soll ich)\b"
    ),
    "recommendation": _cue(
        r"\b(?:i'?d|i would|recommend|suggest|propose|better|should|option|options|either|simplest|safest|advise|"
        r"empfehle|würde|vorschlag|sollte)\b|建议"
    ),
    "acceptance": _cue(
        r"\A\W*(?:yes|yep|yeah|ok|okay|agreed|do (?:it|that|so)|go|sure|right|good|great|perfect|ship it|exactly|fine|"
        r"please do|sounds good|deal|lgtm|ja|genau|passt|mach|gut|oui|sí|si|vale|好|对|可以|是)\b"
    ),
    "rejection": _cue(
        r"\A\W*(?:no|nope|nah|stop|wait|don'?t|never|wrong|not|nein|halt|falsch|non|不|别)\b",
    ),
    "small talk": _cue(
        r"\b(?:thanks|thank you|thx|ty|cheers|danke|merci|gracias|bye|good ?night|night|morning|hi|hello|hallo|great|"
        r"nice|cool|perfect|awesome|lol|haha|lmao)\b|谢谢|你好"
    ),
    "general": _cue(
        r"\b(?:usually|typically|generally|commonly|in general|is a|are a|means that|stands for|e\.g|for example|"
        r"imagine|basically|best practice|textbook|the reference|according to|documentation|docs|rule of thumb|"
        r"people say|meist|üblicherweise|normalerweise)\b"
    ),
    "past": _cue(
        r"\b(?:was|were|had|did|got|went|took|cost|broke|failed|lost|happened|"
        r"last (?:year|week|month|time|spring|summer|autumn|winter)|in (?:january|february|march|april|may|june|july|"
        r"august|september|october|november|december)|war|hatte|letzte[sn]?)\b"
    ),
    "first person": _cue(r"\b(?:i|i'?m|i'?ve|me|my|ich|mir|je|yo)\b"),
    "we": _cue(r"\b(?:we|our|us|ours|wir|uns|unser\w*|nous|notre|nosotros|nuestro)\b|我们"),
    "you": _cue(r"\b(?:you|your|du|dein\w*|dir|tu|vous)\b|你"),
    "fix": _cue(
        r"\b(?:fix(?:es|ed)?|solved?|work(?:s|ed)|gone|no longer|confirmed|verified|reproduced|clean|zero|root cause|"
        r"problem|issue|bug|error|fails?|failed|crash\w*|broke|broken|fehler|behoben)\b"
    ),
    "open": _cue(
        r"\b(?:later|tomorrow|next week|ask|wait|leave it|someday|another day|check with|not decid\w*|open|todo|morgen|"
        r"später)\b"
    ),
    "imperative": _cue(
        r"\A\W*(?:(?:and|so|then|also|please|pls|just|ok|okay|no|yes)[, ]+)*(?:use|keep|put|make|set|take|drop|leave|"
        r"add|remove|write|rename|move|don'?t|do not|never|always|run|check|show|give|tell|explain|summari[sz]e|list|"
        r"look|find|stop|nimm|mach|setz|lass|schreib)\b"
    ),
    "request": _cue(
        r"\A\W*(?:(?:can|could|would|will) (?:you|u)|pls|please|explain|what|how|why|where|when|which|who|is|are|does|"
        r"do|did|was|wie|warum|wo|kannst)\b"
    ),
}
"""Features of the classifier. A change needs new weights (``scripts/train_lessons.py``)."""

STANDING = _cue(
    r"\A\W*(?:(?:and|so|ok|okay|please|pls|also|btw|no|nope|yes|we)[, ]+)*(?:"
    r"remember\b(?! (?:when|the time|how|if))|(?:always|never) \w+|(?:don'?t|do not) use\b|"
    r"we(?:'ve)? (?:have )?(?:decided|agreed)\b|use \S.{0,60}(?:, ?(?:not|never)|\binstead of\b|\brather than\b)|"
    r"merk dir|ab (?:jetzt|sofort)|immer|nie(?:mals)?|wir haben (?:entschieden|beschlossen)|"
    r"désormais|dorénavant|toujours|souviens-toi|on a décidé|siempre|nunca|recuerda|hemos decidido)\b|"
    r"\bfrom (?:now|here) on\b|\bas a rule\b|\bwe (?:always|never)\b|"
    r"\A\W*(?:记住|以后|总是|始终|永远|从不|不要用|我们决定)"
)
"""The explicit word of a user, which has no end: remember, always, never, use X not Y, a decision."""

_ACTIONS = (
    r"(?:use|run|commit|push|merge|rebase|deploy|edit|touch|change|delete|remove|restart|write|mock|call|install|add|put|"
    r"start|release|log|store|import|skip|create|set|send|open|check|test|build|ask|answer|name|keep)"
)
INSTRUCTION = _cue(
    r"\A\W*(?:(?:and|so|ok|okay|please|pls|also|btw|no|nope|yes|we)[, ]+)*(?:"
    r"remember(?: (?:for|in|about) [^:\n]{1,40})?(?:,? that|:)\s+(?:(?:\S+\s+){3}\S+|(?:never|not|don'?t) \S+ \S+)|"
    rf"(?:always|never|do not|don'?t) {_ACTIONS}\b(?:\s+\S+){{2}}|from now on,? (?:please )?{_ACTIONS}\b|"
    r"(?<=no, )use \S+|use \S.{0,60}(?:, ?(?:not|never)|\binstead of\b|\brather than\b)|"
    r"we(?:'ve| have)? decided (?:to|on|for|that)\b|"
    r"(?:(?:agreed|settled|deal|fine|good)\W+)+(?:then )?we(?:'ll| will)? (?:use|keep|take|go with|stay with)\b.{8}|"
    r"merk dir|wir haben (?:entschieden|beschlossen)|ab (?:jetzt|sofort) (?:bitte )?\w+|"
    r"(?:bitte )?(?:nimm|nutze|verwende|benutze)\b.{1,60}\b(?:statt|nicht)\b|"
    r"désormais\b.{1,40}\butilise|utilise[zr]?\b.{1,60}\b(?:au lieu de|plutôt que|pas)\b|on a décidé|souviens-toi que|"
    r"usa\b.{1,60}\b(?:en (?:lugar|vez) de|no)\b|recuerda que|hemos decidido)|"
    r"\A\W*(?:记住[：:，]|以后.*(?:都|要|用)|不要(?:使用|用).*(?:改用|请用))"
)
"""A user tells the agent what to do from now on. It needs no other evidence."""

ADVICE = _cue(
    r"\b(?:i(?:'d| would)? (?:strongly )?recommend|my recommendation|"
    r"i(?:'d| would) (?:use|keep|go with|take|store|choose|prefer)|"
    r"i suggest (?:using|to use)|ich (?:empfehle|würde)|je recommande|recomiendo)\b|我建议"
)
"""The agent recommends something."""

CONSENT = _cue(
    r"\A\W*(?:(?:yes|yep|yeah|ok|okay|agreed|sure|perfect|good|great|ja|oui|sí|好|好的|可以)[,.! ]*)?"
    r"(?:please |pls )?(?:yes|agreed|do (?:that|it|so)|go (?:ahead|for it|with (?:that|it))|let'?s do (?:that|it)|"
    r"sounds good|deal|mach das|genau|fais-le|hazlo|就这样)\W*\Z"
)
"""All that a user says to a recommendation is yes."""

RETRACTION = _cue(
    r"\b(?:forget(?! to\b)|scrap|scratch|revert|undo|discard|strike|take(?= (?:\S+ ){1,3}(?:out|back)\b)|"
    r"(?<!going )back to|no longer|so no|delete(?= the\b)|vergiss|zurück (?:zu|auf)|oublie|annule|olvida|deshaz)\s+"
    r"(?P<what>[^,.;:!?(]{1,60})|"
    r"\bso [^,.;:!?]{1,40}, not (?P<what>[^,.;:!?(]{1,40})|"
    r"(?P<what>[^,.;:!?]{1,60}?) (?:was|is|are|were) (?:a mistake|the wrong|not acceptable|nicht mehr)\b|"
    r"(?:算了|撤销|改回|不再)(?P<what>[^，。；！？]{0,30})"
)
"""Words by which a user takes something back; ``what`` is taken back, or only points to it. A change needs new
weights."""

_RULE = (
    r"(?:rule|decision|convention|policy|instructions?|agreement|regel|entscheidung|vorgabe|anweisung|"
    r"absprache|règle|décision|consigne|regla|decisión|instrucción)\b"
)
_FORGET = r"(?:forget(?: about)?|scrap|scratch|vergiss|oublie|olvida)"
_NAME = (
    r"(?!(?:the|an?|this|that|these|those|all|any|every|my|your|our|it|to|d[ai]s|d(?:ie|er|en|em)|l[aeo]s?|el)\b|l')"
)
REVOCATION = _cue(
    r"\A\W*+(?:(?:and|so|then|ok|okay|please|pls|no|hm+|actually|sorry|wait|well|bitte|also|let'?s)[, ]+)*+"
    r"(?!.*(?:[?？]|\b(?:for now|today|(?:this|that|just) (?:time|once)|for (?:a|the) moment|heute|diesmal|"
    r"fürs erste|pour l'instant|por ahora)\b))(?:"
    rf"(?:{_FORGET}|strike|revoke|withdraw|take back|take(?= [^,.;:!?]{{1,60}} back\b))\s+"
    rf"(?P<rule>[^,.;:!?(]{{0,40}}?\b(?:{_RULE}|what (?:i|we) (?:said|decided|agreed|told you)\b)[^,.;:!?(]{{0,60}})|"
    rf"(?P<rule>[^,.;:!?(]{{0,40}}?\b{_RULE}[^,.;:!?(]{{0,60}}?) (?:no longer (?:holds?|appl(?:y|ies)|counts?)|"
    r"(?:is|are) (?:obsolete|void|off)|(?:was|were) (?:a mistake|wrong)|gilt nicht mehr|gelten nicht mehr)\b|"
    rf"{_FORGET}\s+{_NAME}(?P<name>[^,.;:!?(]{{1,60}})|"
    r"(?:算了|忘掉|忘记|撤销)(?P<rule>[^，。；！？\n]{0,30}(?:规则|决定|约定)))"
)
"""Words by which a user gives up a rule or decision for good: ``rule`` says that it is one, ``name`` only names what
it is about. A task (*undo the push*) or a failure (*the tests no longer run*) is none."""

REVISIONS = {
    "doubt": _cue(
        r"\A\W*(?:hm+|hmm+|uh|ugh|oh|ah|wait|hang on|hold on|oops|damn|crap|shit|right|argh|no|nope|actually|sorry|"
        r"moment|halt|ach|mist|hm|doch|nein|attends|non|zut|mince|espera|uy|no|等等|等一下|不对|哦|唉)\b|"
        r"\b(?:on second thought|thinking about it|never ?mind|my mistake|i was wrong|stupid of me|changed my mind|"
        r"come to think)\b"
    ),
    "instead": _cue(
        r"\b(?:instead|rather|after all|the other|switch|replace|restore|as before|like before|as it was|withdraw|"
        r"drop|remove|kill|out with|take (?:it|that|them) out|rip|keep (?:it|them|the)|leave (?:it|them|the)|"
        r"then (?:we )?(?:keep|use|take|go|do|back)|doch|lieber|stattdessen|wieder|raus|plutôt|finalement|mejor|"
        r"al final|en vez)\b|还是|改成|换成|换回|去掉|取消"
    ),
    "too much": _cue(
        r"\b(?:too|not enough|isn'?t (?:enough|allowed|ok)|"
        r"not (?:allowed|acceptable|ok|possible|an option|needed|worth)|can'?t|cannot|must not|mustn'?t|"
        r"no (?:longer|more|need)|anymore|any more|won'?t|zu \w+|nicht mehr|darf nicht|"
        r"geht nicht|trop|ne peut pas|plus besoin|demasiado|no se puede|ya no)\b|太|不行|不能|不用|不需要"
    ),
    "news": _cue(
        r"\b(?:just (?:told|said|talked|spoke|heard|saw|got|learned|answered|realised|realized|noticed)|talked to|"
        r"spoke (?:to|with)|heard from|turns out|it seems|(?:says?|said|wants?|told|expects?|insists?|complains?|"
        r"answered|wrote)\b.{0,40}|found out|gerade|eben|hat gesagt|meint|vient de|dit que|acaba de|dice que)\b|刚|原来"
    ),
    "problem": _cue(
        r"\b(?:but|still|fail\w*|refuse\w*|diverge\w*|broke\w*|worse|slower|error|snag|problem|however|not|doesn'?t|"
        r"didn'?t|can'?t|isn'?t|wasn'?t|aber|immer noch|fehler|mais|toujours|erreur|pero|sigue)\b|但|还是|失败"
    ),
    "back": _cue(
        r"\b(?:back (?:to|on|at|in|out)|reverted?|restored?|undone?|removed|dropped|gone|instead|now (?:on|at|uses?)|"
        r"again|no longer|zurück\w*|entfernt|wieder|stattdessen|retiré|remis|revenu|de vuelta|quitado|restaurado)\b|"
        r"恢复|撤销|改回|已改|移除"
    ),
    "cause": _cue(
        r"\b(?:wasn'?t|was not|isn'?t|is not|not) (?:the|it|that|because|caused|really)\b|\b(?:had nothing to do|"
        r"red herring|wrong (?:track|tree|place|cause)|real (?:cause|culprit|reason)|actual(?:ly)? (?:cause|was)|"
        r"didn'?t help|doesn'?t help|no difference|lag nicht|war nicht|ce n'était pas|no era)\b|不是因为|其实是"
    ),
}
"""Words by which somebody changes their mind, and by which others answer to it. A change needs new weights."""

SMALL_TALK = _cue(
    r"\A\W*(?:let me|let's|let us|i(?:'ll| will| am going to|'m going to|'m about to)|now (?:i|let)|next,? i|"
    r"i(?:'ve| have)? (?:now )?(?:read|looked|checked|reviewed|finished|completed|see|understand)|"
    r"i(?:'m| am) (?:ready|happy|here)|i can (?:help|also)|how can i|(?:would|do) you (?:like|want)|feel free|"
    r"if you(?:'d| would)? (?:like|want|need)|happy to|just (?:tell|let)|looking at|great|perfect|sure|done|all done|"
    r"certainly|of course|hope (?:this|that)|here(?:'s| is| are)|hi|hello|hey|you're (?:welcome|right)|thank(?:s| you)|"
    r"good (?:question|point|luck)|understood|got it|okay|ok)\b|"
    r"\A\W*(?:ich (?:werde|schaue|prüfe|lese|sehe|kann)|lass mich|schauen wir|soll ich|möchtest du|wenn du|hallo|"
    r"gerne|klar|natürlich|fertig|verstanden|danke|perfekt|super|hier (?:ist|sind))\b|"
    r"\A\W*(?:je (?:vais|peux|regarde|vérifie|lis)|laisse[zs]?-moi|voulez-vous|veux-tu|souhaite[sz]|si (?:tu|vous)|"
    r"bonjour|bien sûr|d'accord|parfait|merci|voici|n'hésite)\b|"
    r"\A\W*(?:voy a|puedo|déjame|vamos a|quieres|desea[s]?|si (?:quieres|necesitas)|hola|claro|perfecto|listo|gracias|"
    r"aquí (?:está|tienes)|de acuerdo|entendido)\b|"
    r"\A\W*(?:让我|我(?:将|会|来|先|可以|已经(?:阅读|查看|检查))|现在我|接下来|你好|您好|好的|当然|没问题|谢谢|如果(?:你|您)|"
    r"需要我|是否需要|这是|以下是|明白)"
)
"""Beginnings of sentences without information, such as greetings and announcements."""
