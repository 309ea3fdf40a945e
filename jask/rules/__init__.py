"""How each lax primitive works on a part of its output."""
