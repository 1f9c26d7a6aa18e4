// Package soak is a long storm: servers, masters, agents and executors are killed with SIGKILL, frozen and continued
// at random while jobs fire, and the ledger is checked at the end. It is built with the tag soak only: make soak.
package soak
