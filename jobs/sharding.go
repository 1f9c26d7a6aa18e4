package jobs

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/document"
)

// ShardingParameters parses shardingItemParameters, such as "0=a,1=b", into the parameter of each shard. Shards
// without a parameter are not in the map (contract 2.3). Unlike the original, it refuses shards that do not exist or
// have two parameters [D27]. The other violations have the original's messages. With violations the map is nil.
func ShardingParameters(c Config) (map[int]string, document.Violations) {
	parameters := map[int]string{}
	text := c.ShardingItemParameters
	if text == "" {
		return parameters, nil
	}
	var bad document.Violations
	violate := func(format string, args ...any) {
		bad = append(bad, document.Violate("shardingItemParameters", text, format, args...))
	}
	for part := range strings.SplitSeq(text, ",") {
		pieces := strings.Split(strings.TrimSpace(part), "=")
		if len(pieces) != 2 || strings.TrimSpace(pieces[1]) == "" {
			short := document.Violate("", text, "").Value
			return nil, document.Violations{document.Violate("shardingItemParameters", text,
				"Sharding item parameters '%s' format error, should be int=xx,int=xx", short)}
		}
		key, value := strings.TrimSpace(pieces[0]), strings.TrimSpace(pieces[1])
		item, err := strconv.Atoi(key)
		_, repeated := parameters[item]
		switch {
		case len(bad) == maxViolations:
			return nil, bad
		case err != nil:
			violate("Sharding item parameters key '%s' is not an integer.", document.Violate("", key, "").Value)
		case item < 0 || item >= c.ShardingTotalCount:
			violate("shard %d does not exist: shardingTotalCount is %d, and shards are numbered from 0", item,
				c.ShardingTotalCount)
		case repeated:
			violate("shard %d is given more than once", item)
		default:
			parameters[item] = value
		}
	}
	if len(bad) > 0 {
		return nil, bad
	}
	return parameters, nil
}

// maxViolations limits the number of violations of one field.
const maxViolations = 20

// StoredParameters parses shardingItemParameters of a stored document as leniently as the original. It ignores empty
// entries and parameters of shards that do not exist. Of several parameters for a shard, the last one counts. A value
// may contain a '='. The notes say which of these cases occur. If an entry cannot be read, StoredParameters returns
// the violations of ShardingParameters and no parameters.
func StoredParameters(c Config) (parameters map[int]string, notes []string, bad document.Violations) {
	if parameters, bad = ShardingParameters(c); len(bad) == 0 {
		return parameters, nil, nil
	}
	parameters = map[int]string{}
	var beyond, repeats, withSign, empty int
	for part := range strings.SplitSeq(c.ShardingItemParameters, ",") {
		if strings.TrimSpace(part) == "" {
			empty++
			continue
		}
		key, value, found := strings.Cut(part, "=")
		item, err := strconv.Atoi(strings.TrimSpace(key))
		value = strings.TrimSpace(value)
		_, repeated := parameters[item]
		switch {
		case !found || err != nil:
			return nil, nil, bad
		case item < 0 || item >= c.ShardingTotalCount:
			beyond++
			continue
		case repeated:
			repeats++
		}
		if strings.Contains(value, "=") {
			withSign++
		}
		parameters[item] = value
	}
	note := func(n int, format string) {
		if n > 0 {
			notes = append(notes, "shardingItemParameters: "+fmt.Sprintf(format, n))
		}
	}
	note(beyond, "parameters of shards that do not exist are ignored: %d")
	note(repeats, "of two parameters for a shard, the last one counts: %d")
	note(withSign, "values that contain a '=' are given to the shards unchanged: %d")
	note(empty, "empty entries are ignored: %d")
	return parameters, notes, nil
}
