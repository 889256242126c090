# The stack, synthesized and deployed.

deploy_phase() { :; }
