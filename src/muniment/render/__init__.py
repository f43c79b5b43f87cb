"""How a session is shown to a person: one outline, and what is made of it."""
