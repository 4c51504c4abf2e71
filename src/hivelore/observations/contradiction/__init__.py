"""Whether two notes about one service say the same, contradict each other, or say different things."""
