# The decoders at length: structure at random, captures that are made to hurt, and tshark's word on what no real capture has.

decode_phase() {
  check 'the command line is built' npm run build
  check 'tshark is there' install_tshark
  check 'a million packets of mutated structure' fuzz_structure
  check 'rows of real captures are what tshark says' agree_with_tshark
  check 'captures made in code are what tshark says' npx tsx test/engines/tshark/compare.ts "$WORK/tshark"
  check 'hostile captures cost little' env PYTHON="$PYTHON" npx tsx test/captures/measure-hostile.ts "$WORK/hostile"
}

# From Debian. Where it is not there and cannot be installed the check fails: nothing else judges those captures.
install_tshark() {
  command -v tshark >/dev/null && return 0
  local sudo=''
  [ "$(id -u)" -eq 0 ] || sudo='sudo -n'
  $sudo apt-get update -q &&
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends tshark &&
    command -v tshark && return 0
  echo 'tshark could not be installed: run `apt-get install tshark` and start the phase again'
  return 1
}

fuzz_structure() {
  DELTACAP_FUZZ_PACKETS=1000000 npx vitest run packages/capture/test/decode/structural-fuzz.test.ts --testTimeout 900000 --disable-console-intercept
}

agree_with_tshark() {
  test -s "$DELTACAP_CAPTURES/INDEX.tsv" && npx vitest run packages/capture/test/decode/oracle.test.ts --disable-console-intercept
}
