# The stack, synthesized, and deployed to ministack by the ordinary CDK command line.

deploy_phase() {
  check 'ministack, cfn-lint, boto3' install_environment deploy -r .ci/requirements-deploy.txt
  check 'functions are built' functions_are_built
  check 'npm run synth, with no network: cdk-nag finds nothing' without_network npm run synth
  check 'cfn-lint: no errors' lint_templates
  if check_ministack; then
    deployed
    existing_buckets
  fi
  stop_ministack
}

functions_are_built() {
  [ -s dist/lambdas/maintenance/index.mjs ] || npm run build
}

# Where namespaces are not allowed, names resolve to nothing instead.
without_network() {
  if unshare -rn true 2>/dev/null; then unshare -rn "$@"; else env RES_OPTIONS=attempts:0 LOCALDOMAIN=invalid "$@"; fi
}

# DependsOn that a reference implies (W3005) is CDK's own doing.
lint_templates() {
  local lint=.ci/.venv-deploy/bin/cfn-lint
  npx cdk synth --quiet --output "$WORK/existing" "${existing_names[@]}" &&
    "$lint" --regions eu-central-1 us-east-1 --ignore-checks W3005 --template cdk.out/Deltacap.template.json "$WORK/existing/Deltacap.template.json"
}

existing_names=(
  --context deltacap:captureBucket=the-captures --context deltacap:capturePrefix=car- --context deltacap:captureSuffixes=.pcap,.pcapng
  --context deltacap:tableBucket=the-lake --context deltacap:key=create --context deltacap:glueDatabase=lake
  --context deltacap:permissionsBoundary=arn:aws:iam::123456789012:policy/boundary
)

# --- ministack ---------------------------------------------------------------------------------------------------------------

check_ministack() {
  export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=eu-central-1 AWS_DEFAULT_REGION=eu-central-1
  export CDK_DISABLE_CLI_TELEMETRY=true OUTPUTS="$WORK/outputs.json" STAGE="$WORK/stage"
  local port
  port=$(free_port)
  export AWS_ENDPOINT_URL="http://127.0.0.1:$port"
  # It runs functions under the PATH's Node, and its own Python for CDK's function.
  PATH="$(dirname "$NODE24"):$PWD/.ci/.venv-deploy/bin:$PATH" TMPDIR="$WORK" BIND_HOST=127.0.0.1 GATEWAY_PORT="$port" \
    MINISTACK_HOST=127.0.0.1 MINISTACK_REGION=eu-central-1 LAMBDA_EXECUTOR=local \
    setsid .ci/.venv-deploy/bin/ministack >"$WORK/deploy-ministack.log" 2>&1 &
  ministack_pid=$!
  local before=$failed
  check 'ministack listens' await_port "$port"
  check 'cdk bootstrap' bootstrap
  check 'captures are staged' stage_captures
  [ "$failed" -eq "$before" ]
}

stop_ministack() {
  [ -n "${ministack_pid:-}" ] && kill -- "-$ministack_pid" 2>/dev/null
  unset AWS_ENDPOINT_URL
}

# Without the app: its stack is not needed for it.
bootstrap() { (cd "$WORK" && "$OLDPWD/node_modules/.bin/cdk" bootstrap aws://000000000000/eu-central-1); }

cdk_on_ministack() {
  npx cdk --app 'node_modules/.bin/tsx test/deploy/ministack-app.ts' --output "$WORK/cdk.out" "$@"
}

# Captures below 300 KB, every fourth: all kinds, damaged ones too, and functions that start anew for each batch.
stage_captures() {
  local n=0 file
  for file in $(find "$DELTACAP_CAPTURES/files" -type f -size -300k | sort); do
    n=$((n + 1))
    case $((n % 8)) in
      0) stage "$file" "first/car-$((n % 3))" ;;
      4) stage "$file" "second/car-$((n % 3))" ;;
    esac
  done
  stage "$(find "$DELTACAP_CAPTURES/files" -name '*.pcap' -size -20k | sort | head -n 1)" stream
  # Exit 1 says that some are broken, on purpose.
  node dist/cli/main.js ingest "$STAGE/first" --table "$STAGE/first-table" || [ $? -eq 1 ] || return 1
  cp -r "$STAGE/first-table" "$STAGE/both-table" || return 1
  node dist/cli/main.js ingest "$STAGE/second" --table "$STAGE/both-table" || [ $? -eq 1 ]
}

stage() { mkdir -p "$STAGE/$2" && cp "$1" "$STAGE/$2/"; }

step() { .ci/.venv-deploy/bin/python test/deploy/deployment.py "$1"; }

deployed() {
  check 'cdk deploy' cdk_on_ministack deploy --require-approval never --outputs-file "$OUTPUTS"
  check 'captures become rows, each once, with three committers' step first
  check 'cdk deploy: an update' cdk_on_ministack deploy --require-approval never --outputs-file "$OUTPUTS" --context deltacap:converterMemory=2048 --context deltacap:checkpointInterval=1
  check 'captures become rows after the update' step second
  check 'the command line looks after the stack' command_line
  check 'maintenance writes a checkpoint, delta-rs reads it' step maintenance
  check 'a steady stream of uploads' step stream
  check 'a vehicle is forgotten beside the committer' step forgotten
  check 'cdk destroy' cdk_on_ministack destroy --force
  check 'the data is still there' step kept
}

# Every capture is known by now: none is announced again, and the table on S3 has what the stack says.
command_line() {
  local bucket table
  bucket=$(output CaptureBucket) && table=$(output TableUri) || return 1
  says '"converter":"off","committer":"off"' pause --json &&
    says '"converter":"off","committer":"off"' status --json &&
    says '"converter":"on","committer":"on"' resume --json &&
    says '"announced":0' backfill "s3://$bucket/" --dry-run --json &&
    says '"check":"table","state":"ok"' doctor --json &&
    says '"moved":{"captures":0,"manifests":0}' retry --dead-letters --json &&
    says '"packets":' sql "$table" 'select count(*)::int as packets from packets' --json
}

# says TEXT COMMAND...: what the command line prints has the text, whatever its exit code.
says() {
  local text=$1 printed
  shift
  printed=$(node dist/cli/main.js "$@")
  case $printed in *"$text"*) ;; *) echo "deltacap $*: no $text in: $printed"; return 1 ;; esac
}

output() {
  python3 -c 'import json, sys; print(next(iter(json.load(open(sys.argv[1])).values()))[sys.argv[2]])' "$OUTPUTS" "$1"
}

# On the buckets that the first stack left, which are existing ones by now.
existing_buckets() {
  local names=()
  check 'another team listens to the bucket' step other_team
  mapfile -t names < <(existing_context)
  check 'cdk deploy on existing buckets' cdk_on_ministack deploy --require-approval never --outputs-file "$OUTPUTS" "${names[@]}"
  check 'notifications: theirs and ours' step others_and_ours
  check 'captures of before add nothing, new ones do' step again
  check 'cdk deploy on existing buckets: an update' cdk_on_ministack deploy --require-approval never --outputs-file "$OUTPUTS" "${names[@]}" --context deltacap:capturePrefix=car
  check 'notifications after the update: theirs and ours' step others_and_ours
  check 'cdk destroy, existing buckets' cdk_on_ministack destroy --force "${names[@]}"
  check 'notifications after the deletion: theirs' step others_alone
}

existing_context() {
  python3 - "$OUTPUTS" <<'PYTHON'
import json, sys
outputs = next(iter(json.load(open(sys.argv[1])).values()))
table_bucket, table_prefix = outputs["TableUri"].removeprefix("s3://").split("/", 1)
settings = {
    "stack": "DeltacapExisting",
    "deltacap:captureBucket": outputs["CaptureBucket"],
    "deltacap:capturePrefix": "car-",
    "deltacap:tableBucket": table_bucket,
    "deltacap:tablePrefix": table_prefix,
    "deltacap:logTable": outputs["LogTable"],
}
for name, value in settings.items():
    print("--context", f"{name}={value}", sep="\n")
PYTHON
}
