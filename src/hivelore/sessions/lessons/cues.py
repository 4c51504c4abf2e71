"""Cues: words that mark sentences worth keeping, such as corrections, decisions, causes and facts.

English, German, French, Spanish and Chinese. Each pattern is searched in one sentence.
"""

import regex


def _cues(*alternatives: str) -> regex.Pattern[str]:
    return regex.compile("|".join(alternatives), regex.IGNORECASE)


CORRECTION = _cues(
    # At the beginning of a sentence.
    r"\A\W*(?:no|nope|wrong|stop|don'?t|do not|never|always|actually|rather|please (?:use|don'?t|do not|never|always)|"
    r"from now on|remember|instead|you should(?:n'?t| not)?|you must(?:n'?t| not)?|i (?:said|told you|meant|"
    r"prefer|want you))\b",
    r"\A\W*(?:nein|falsch|halt|nicht|nie(?:mals)?|immer|bitte (?:nimm|nutze|verwende|benutze|kein|nicht|nie|immer)|"
    r"ab (?:jetzt|sofort)|merk dir|nimm|nutze|verwende|benutze|du (?:sollst|darfst|musst)|ich (?:meinte|will|"
    r"möchte|sagte))\b",
    r"\A\W*(?:non|faux|arrête|jamais|toujours|ne \w+ pas|n'\w+ pas|utilise[zr]?|plutôt|désormais|dorénavant|"
    r"souviens-toi|"
    r"tu (?:dois|devrais)|il (?:faut|ne faut pas)|je (?:préfère|voulais|veux))\b",
    r"\A\W*(?:incorrecto|mal|para|nunca|jamás|siempre|no (?:uses|hagas|lo|la|es|utilices|toques)|usa|utiliza|mejor|"
    r"a partir de ahora|recuerda|debes|prefiero|quiero que)\b",
    r"\A\W*(?:不要|不是|不对|不应该|别|错了|应该|请(?:用|使用|不要|改|别)|改用|以后|记住|总是|始终|永远|从不|必须|我(?:说|要|想|的意思))",
    # Anywhere in a sentence.
    r"\b(?:instead of|rather than|not \S+(?: \S+)?, but|we (?:always|never))\b",
    r"\b(?:statt(?:dessen)?|anstatt|wir (?:\w+ )?(?:immer|nie))\b|\b(?:au lieu de|plutôt que)\b|\b(?:en (?:lugar|"
    r"vez) de|nosotros (?:siempre|nunca))\b",
    r"而不是|换成|改成",
)
"""Sentences in which a user corrects the agent."""

DECISION = _cues(
    r"\b(?:decided|chose|chosen|opted|settled on|went with|going with|we(?:'ll| will) (?:use|keep)|switched (?:to|"
    r"from)|"
    r"replaced .{1,80} with|instead of|rather than|in favou?r of|trade-?offs?|prefer(?:red)?|by design|on purpose)\b",
    r"\b(?:entschieden|entscheidung|gewählt|umgestellt|ersetzt|statt(?:dessen)?|anstatt|bevorzug\w+|absichtlich|"
    r"bewusst)\b",
    r"\b(?:décid\w+|choisi\w*|opté|retenu|remplacé\w*|au lieu de|plutôt que|volontairement)\b",
    r"\b(?:decid\w+|eleg\w+|opt(?:amos|é)|reemplaz\w+|sustitu\w+|en (?:lugar|vez) de|a propósito)\b",
    r"决定|选择了|选用|采用|改用|换成|改成|而不是|替换",
)

CAUSE = _cues(
    r"\b(?:root cause|caused by|the (?:cause|reason|problem|issue|bug|culprit|fix|solution|trick|catch|key) (?:is|was)|"
    r"turn(?:s|ed) out|because|due to|fixed (?:it |this |that )?by|solved by|work(?:s|ed) around|workaround|gotcha|"
    r"the (?:test|build|job|call)s? (?:fail\w*|broke) (?:because|when|since))\b",
    r"\b(?:ursache|grund (?:ist|war|dafür)|lag (?:daran|an)|liegt (?:daran|an)|weil|wegen|das problem (?:ist|war)|"
    r"behoben|gelöst|"
    r"stellt\w* sich heraus|umgehung|stolperfalle)\b",
    r"\b(?:cause (?:est|était|racine)|parce qu\w+|à cause d\w+|le problème (?:est|était|venait)|corrigé\w*|résolu\w*|"
    r"s'avère|contournement|provenait|vient du fait)\b",
    r"\b(?:causa (?:es|era|fue|raíz)|porque|debido a|el problema (?:es|era|fue|estaba)|corregid\w+|solucionad\w+|"
    r"resuelt\w+|"
    r"resulta que|resultó que)\b",
    r"根本原因|原因是|因为|由于|问题(?:是|在于|出在)|修复|解决了|解决方[法案]|原来|导致",
)
"""Problems and solutions."""

FACT = _cues(
    r"\b(?:must|requires?|needs? to|only works?|never|always|make sure|careful|note that|important(?:ly)?|caveat|"
    r"lives? in|defined in|located in|stored in|configured in|convention|is (?:set|read|generated|loaded|"
    r"called) (?:by|in|from)|"
    r"responsible for|defaults? to|depends on)\b",
    r"\b(?:muss|müssen|darf|dürfen|nur wenn|niemals|immer|achtung|wichtig|vorsicht|hinweis|liegt in|steht in|"
    r"definiert in|"
    r"voraussetzung|konvention|hängt (?:von|ab)|standardmäßig)\b",
    r"\b(?:doi(?:t|vent)|il faut|nécessite|toujours|jamais|attention|important|se trouve|défini\w* dans|"
    r"par défaut|dépend)\b",
    r"\b(?:debe(?:n)?|hay que|requiere|siempre|nunca|atención|importante|cuidado|se encuentra|definid\w+ en|"
    r"por defecto|depende)\b",
    r"必须|需要|务必|注意|重要|位于|定义在|存放在|配置在|默认|依赖|始终|永远不",
)
"""Facts about the code base: locations, rules and conventions."""

SMALL_TALK = _cues(
    r"\A\W*(?:let me|let's|let us|i(?:'ll| will| am going to|'m going to|'m about to)|now (?:i|let)|next,? i|"
    r"i(?:'ve| have)? (?:now )?"
    r"(?:read|looked|checked|reviewed|finished|completed|see|understand)|i(?:'m| am) (?:ready|happy|here)|"
    r"i can (?:help|also)|"
    r"how can i|(?:would|do) you (?:like|want)|feel free|if you(?:'d| would)? (?:like|want|need)|happy to|"
    r"just (?:tell|let)|"
    r"looking at|great|perfect|sure|done|all done|certainly|of course|hope (?:this|that)|here(?:'s| is| are)|hi|"
    r"hello|hey|"
    r"you're (?:welcome|right)|thank(?:s| you)|good (?:question|point)|understood|got it|okay|ok)\b",
    r"\A\W*(?:ich (?:werde|schaue|prüfe|lese|sehe|kann)|lass mich|schauen wir|soll ich|möchtest du|wenn du|hallo|"
    r"gerne|klar|"
    r"natürlich|fertig|verstanden|danke|perfekt|super|hier (?:ist|sind))\b",
    r"\A\W*(?:je (?:vais|peux|regarde|vérifie|lis)|laisse[zs]?-moi|voulez-vous|veux-tu|souhaite[sz]|si (?:tu|"
    r"vous)|bonjour|"
    r"bien sûr|d'accord|parfait|merci|voici|n'hésite)\b",
    r"\A\W*(?:voy a|puedo|déjame|vamos a|quieres|desea[s]?|si (?:quieres|necesitas)|hola|claro|perfecto|listo|gracias|"
    r"aquí (?:está|tienes)|de acuerdo|entendido)\b",
    r"\A\W*(?:让我|我(?:将|会|来|先|可以|已经(?:阅读|查看|检查))|现在我|接下来|你好|您好|好的|当然|没问题|谢谢|如果(?:你|您)|需要我|是否需要|这是|以下是|明白)",
)
"""Beginnings of sentences without information, such as greetings and announcements."""
