"""Understanding sessions: skeletons, names, engagements, and the index of them."""
