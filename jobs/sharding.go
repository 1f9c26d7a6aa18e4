package jobs

import (
	"strconv"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/document"
)

// ShardingParameters parses shardingItemParameters, such as "0=a,1=b", into the parameter of each shard. Shards
// without a parameter are not in the map (contract 2.3). The violations have the original's messages where it has any.
// Shards that do not exist or are given twice are refused [D27], and the map is empty then.
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
		_, doubled := parameters[item]
		switch {
		case len(bad) == maxViolations:
			return nil, bad
		case err != nil:
			violate("Sharding item parameters key '%s' is not an integer.", document.Violate("", key, "").Value)
		case item < 0 || item >= c.ShardingTotalCount:
			violate("shard %d does not exist: shardingTotalCount is %d, and shards are numbered from 0", item,
				c.ShardingTotalCount)
		case doubled:
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

// maxViolations bounds the number of violations of one field.
const maxViolations = 20
