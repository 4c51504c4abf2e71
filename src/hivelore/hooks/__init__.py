"""``hivelore hook``: delivers events of an agent program to the service, and prints its answers.

The agent waits for a hook at every prompt. So a hook waits 200 ms at most, always exits with 0, prints nothing but an
answer, and imports little of the standard library.

    client       delivery while the agent waits
    fallback     in a detached process after that: spools an event, starts the service
    transcripts  in a detached process: sends what the transcript of a session grew by
    install      copies the hook into the home folder, from where programs run it
"""
