// Package search is what can be asked of the history, and what is answered. It checks questions and holds no way to answer them, so
// that the API can take them from people and the database can answer them.
package search
