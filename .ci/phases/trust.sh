# The table, with other engines.

trust_phase() { :; }
