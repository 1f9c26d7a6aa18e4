package sim

import (
	"bytes"
	"encoding/json"
	"errors"
)

// shardReader decodes parts of executions' shards. A commit repeats a whole part for each changed shard in it. To save
// time, shards that are the same as in the last commit are not decoded again.
type shardReader map[string]shardPart // by path

type shardPart struct {
	texts  [][]byte
	shards []shardRecord
}

// read decodes the present part at path.
func (r shardReader) read(path string, value []byte) ([]shardRecord, error) {
	texts, err := elements(value)
	if err != nil {
		return nil, err
	}
	was := r[path]
	shards := make([]shardRecord, len(texts))
	for i, text := range texts {
		if i < len(was.texts) && bytes.Equal(text, was.texts[i]) {
			shards[i] = was.shards[i]
		} else if err := json.Unmarshal(text, &shards[i]); err != nil {
			return nil, err
		}
	}
	r[path] = shardPart{texts, shards}
	return shards, nil
}

// elements returns the texts of an array's elements, which may not be valid JSON themselves.
func elements(array []byte) (texts [][]byte, err error) {
	if len(array) < 2 || array[0] != '[' || array[len(array)-1] != ']' {
		return nil, errors.New("it is no array")
	}
	inner := array[1 : len(array)-1]
	begin, depth, quoted := 0, 0, false
	for i := 0; i < len(inner); i++ {
		switch c := inner[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			depth++
		case c == '}', c == ']':
			depth--
		case c == ',' && depth == 0:
			texts, begin = append(texts, inner[begin:i]), i+1
		}
	}
	if len(inner) == 0 {
		return nil, nil
	}
	return append(texts, inner[begin:]), nil
}
