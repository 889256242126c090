# The adapters and functions for AWS, against servers and a writer that others wrote.

cloud_phase() {
  check 'moto, ministack, deltalake 1.6.0' install_cloud
  check 'conformance on moto' on_moto npx vitest run test/aws/conformance.test.ts
  check 'conformance and the fleet on ministack' on_ministack npx vitest run test/aws/conformance.test.ts test/aws/fleet.test.ts
  check 'deltalake and our committer on one table' on_moto npx vitest run test/aws/delta-rs --disable-console-intercept
  check 'each request with each fault, as docs/reliability.md says' env DELTACAP_FAULT_MATRIX=all npx vitest run test/aws/fault-matrix.test.ts
  check 'each rule of exactly once, taken out, turns its test red' npx tsx test/rules/take-out.ts
}

# Each in an environment of its own: their requirements do not agree.
install_cloud() {
  install_environment moto 'moto[server]==5.2.5' &&
    install_environment ministack ministack==1.5.33 boto3==1.43.106 &&
    install_environment deltalake-1.6.0 deltalake==1.6.0 arro3-core==0.9.1
}

install_environment() { # install_environment NAME REQUIREMENT...
  local environment=".ci/.venv-$1"
  shift
  [ -x "$environment/bin/python" ] || python3 -m venv "$environment" || return 1
  "$environment/bin/pip" install --quiet --disable-pip-version-check "$@"
}

on_moto() { # on_moto COMMAND...
  local port
  port=$(free_port)
  with_server moto "$port" .ci/.venv-moto/bin/moto_server -H 127.0.0.1 -p "$port" -- "$@"
}

on_ministack() {
  local port
  port=$(free_port)
  with_server ministack "$port" env BIND_HOST=127.0.0.1 GATEWAY_PORT="$port" .ci/.venv-ministack/bin/ministack -- "$@"
}

# Starts the server, tells the tests where it is, and stops it whatever they say.
with_server() { # with_server NAME PORT SERVER... -- COMMAND...
  local name="$1" port="$2" server=() pid result
  shift 2
  while [ "$1" != -- ]; do
    server+=("$1")
    shift
  done
  shift
  "${server[@]}" >"$WORK/$name.log" 2>&1 &
  pid=$!
  if await_port "$port"; then
    DELTACAP_AWS_SERVER="$name" DELTACAP_S3_ENDPOINT="http://127.0.0.1:$port" \
      DELTACAP_DELTA_RS_PYTHON="$PWD/.ci/.venv-deltalake-1.6.0/bin/python" DELTACAP_DELTA_RS_NEWEST_PYTHON="$PYTHON" "$@"
    result=$?
  else
    echo "$name did not begin to listen"
    tail -n 20 "$WORK/$name.log"
    result=1
  fi
  kill "$pid" 2>/dev/null
  wait "$pid" 2>/dev/null
  return $result
}

free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

await_port() { # await_port PORT
  for _ in $(seq 150); do
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return 0
    sleep 0.2
  done
  return 1
}
