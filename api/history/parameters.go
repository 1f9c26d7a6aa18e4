package history

import (
	"math"
	"strings"

	"github.com/elasticjob-go/elasticjob/api/openapi"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/history/search"
)

// This file describes the parameters of searches of the history and of the audit for the API's description. Package
// search lists and parses them.

// plainParameter is a parameter that package search parses.
type plainParameter openapi.Parameter

// Described returns the parameter's entry in the API's description.
func (p plainParameter) Described() openapi.Parameter { return openapi.Parameter(p) }

func searchText(name, about string) plainParameter {
	return plainParameter{Name: name, In: "query", About: about, Schema: openapi.Schema{"type": "string"}}
}

func searchNumber(name, about string, fallback, maximum int) plainParameter {
	return plainParameter{Name: name, In: "query", About: about,
		Schema: openapi.Schema{"type": "integer", "default": fallback, "minimum": 1, "maximum": maximum}}
}

func searchChoice(name, about string, words []string) plainParameter {
	return plainParameter{Name: name, In: "query", About: about,
		Schema: openapi.Schema{"type": "string", "enum": words}}
}

// searchTakes returns the parameters of a search for a subject.
func searchTakes(subject *search.Subject) []request.Declared {
	var all []request.Declared
	for _, name := range subject.Parameters() {
		all = append(all, searchParameter(subject, name))
	}
	return all
}

func searchParameter(subject *search.Subject, name string) plainParameter {
	switch name {
	case "startTime", "endTime":
		return timeBound(name, "of "+subject.Time)
	case "isSuccess":
		return plainParameter{Name: name, In: "query",
			About:  "True for runs that finished, false for runs that ended otherwise.",
			Schema: openapi.Schema{"type": "boolean"}}
	case "sort":
		return searchChoice(name,
			"The sort key; rows with the same key are sorted by time. Without sort and order the newest come first.",
			subject.Sorts())
	case "order":
		return searchChoice(name, "The sort order.", []string{"ASC", "DESC"})
	case "per_page":
		return searchNumber(name, "Number of rows per page.", search.DefaultPerPage, search.MaxPerPage)
	case "page":
		return searchNumber(name, "Page number, from 1. Pages reach 100,000 rows.", 1, math.MaxInt32)
	case "after":
		return searchText(name, "Instead of page: the field next of an answer to the same search.")
	}
	return searchText(name, "Rows that have exactly this "+name+".")
}

// timeBound returns the parameter startTime or endTime of a search. ofWhat completes the sentence "The earliest time
// …".
func timeBound(name, ofWhat string) plainParameter {
	about := "The earliest time " + ofWhat + ", included."
	if name == "endTime" {
		about = "The latest time " + ofWhat + ", included."
	}
	p := searchText(name, about+" As 2026-05-01 12:00:00, in UTC, or RFC 3339.")
	p.Example = "2026-05-01 12:00:00"
	return p
}

// auditTakes returns the parameters with these names of a search of the audit.
func auditTakes(names ...string) []request.Declared {
	var all []request.Declared
	for _, name := range names {
		p := searchText(name, "Rows that have exactly this "+name+".")
		switch name {
		case "target":
			p.About = "A kind of target (" + strings.Join(search.AuditTargets, ", ") + "), or the name of one."
		case "startTime", "endTime":
			p = timeBound(name, "of a change")
		case "limit":
			p = searchNumber(name, "Maximum number of rows.", search.DefaultAudits, search.MaxAudits)
		case "cursor":
			p.About = "The field next of an answer to the same search, for older rows."
		}
		all = append(all, p)
	}
	return all
}
