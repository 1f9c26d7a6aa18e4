#!/bin/sh
# Counts the words of the texts in texts/, a share of them per shard:
#
#   with a sharding parameter   the texts whose names begin with it
#   else                        every n-th text, n being the number of shards
#
# The job parameter may say "top=N", how many of the most frequent words to show
# (5), and "pause=SECONDS", how long to rest after each text (0), so that there
# is time to watch. It runs by hand, too:
#
#   ELASTICJOB_SHARDING_ITEM=1 ELASTICJOB_SHARDING_TOTAL_COUNT=3 bin/start.sh
set -eu
cd "$(dirname "$0")/.."

item=${ELASTICJOB_SHARDING_ITEM:-0}
shards=${ELASTICJOB_SHARDING_TOTAL_COUNT:-1}
theme=${ELASTICJOB_SHARDING_PARAMETER:-}
top=5
pause=0

for setting in ${ELASTICJOB_JOB_PARAMETER:-}; do
  case $setting in
    top=[0-9]*) top=${setting#top=} ;;
    pause=[0-9]*) pause=${setting#pause=} ;;
    *)
      echo "wordcount: the job parameter $setting is unknown; there are top=N and pause=SECONDS" >&2
      exit 2
      ;;
  esac
done

share=""
number=0
for text in texts/"$theme"*.txt; do
  [ -e "$text" ] || continue
  if [ -n "$theme" ] || [ $((number % shards)) -eq "$item" ]; then
    share="$share $text"
  fi
  number=$((number + 1))
done
if [ -z "$share" ]; then
  if [ -n "$theme" ]; then
    echo "wordcount: no text begins with $theme" >&2
    exit 1
  fi
  echo "shard $item of $shards: more shards than texts, nothing to do"
  exit 0
fi

# words writes the words of files in small letters, one a line.
words() { cat "$@" | tr '[:upper:]' '[:lower:]' | tr -cs "[:lower:]'" '\n' | sed "s/^'*//; s/'*$//; /^$/d"; }

# The names of the texts hold no spaces, so $share falls apart where it should.
# shellcheck disable=SC2086
set -- $share
echo "shard $item of $shards${theme:+, theme $theme}: $# of the texts"
for text in "$@"; do
  printf '%6d  %s\n' "$(words "$text" | wc -l)" "${text#texts/}"
  sleep "$pause"
done
printf '%6d  words in all; of the long ones most often: ' "$(words "$@" | wc -l)"
words "$@" | grep -E '.{5}' | sort | uniq -c | sort -k1,1nr -k2 | awk -v top="$top" '
  NR <= top { line = line (NR > 1 ? ", " : "") $2 " " $1 }
  END       { print line }'
