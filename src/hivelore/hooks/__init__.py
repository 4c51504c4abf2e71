"""``hivelore hook``: hands what happens in an agent program over to the service, and its answer back.

The agent waits for it, at every prompt. So it waits 200 ms at the very most, whatever is wrong, always ends with 0, and
says nothing where it has nothing to say. Standard library only, and next to nothing of it where all is well.

    client    what is done while the agent waits
    aside     what is done after that, in a process of its own: an event is put aside, a service is started
    copying   putting a copy of all this where hooks are started from
"""
