# The decoders at length.

decode_phase() { :; }
