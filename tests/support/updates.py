"""The review of updates, with and without the setting that lets it end valid time."""

from hivelore.review.updates import UpdateReview
from support.world import World


def a_review(world: World, *, ends: bool) -> UpdateReview:
    return UpdateReview(
        store=world.store,
        keywords=world.keywords,
        proposal_queue=world.proposal_queue,
        review_inbox=world.review_inbox,
        normalizer=world.normalizer,
        clock=world.clock,
        ends_validity=ends,
    )
