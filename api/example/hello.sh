#!/bin/sh
# The built-in example: counts to ten seconds, and says how far it has come. It needs nothing but a POSIX shell.
item=${ELASTICJOB_SHARDING_ITEM:-0} total=${ELASTICJOB_SHARDING_TOTAL_COUNT:-1}
pipe=${ELASTICJOB_PIPE#*,}

# progress FRACTION MESSAGE tells the executor; without one, who looks at the output.
progress() {
	if [ -n "$pipe" ]; then
		printf '{"type":"progress","fraction":%s,"message":"%s"}\n' "$1" "$2" >&"$pipe"
	fi
}

printf '\033[1;36mHello from shard %s of %s\033[0m\n' "$item" "$total"
printf 'parameter of this shard: \033[33m%s\033[0m, of the job: \033[33m%s\033[0m\n' "$ELASTICJOB_SHARDING_PARAMETER" "$ELASTICJOB_JOB_PARAMETER"
second=0
while [ "$second" -lt 10 ]; do
	sleep 1
	second=$((second + 1))
	if [ "$second" -lt 10 ]; then done=0.$second; else done=1; fi
	progress "$done" "$second of 10 seconds"
	printf '\033[32m%s\033[0m of 10\n' "$second"
done
if [ "$item" = 2 ] && [ "$ELASTICJOB_JOB_PARAMETER" = fail ]; then
	printf '\033[31mshard 2 was asked to fail, by the job parameter "fail"\033[0m\n' >&2
	exit 1
fi
printf '\033[1;32mdone\033[0m\n'
