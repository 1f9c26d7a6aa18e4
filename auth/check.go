package auth

import (
	"slices"

	"github.com/elasticjob-go/elasticjob/internal/document"
)

// CheckNewUser returns the violations of the name and the password of a new user.
func CheckNewUser(name, password string) document.Violations {
	return slices.Concat(checkName(name), checkPassword(password))
}

// CheckNewPassword returns the violations of a new password.
func CheckNewPassword(password string) document.Violations { return checkPassword(password) }

// CheckNewToken returns the violations of the name of a new API token.
func CheckNewToken(name string) document.Violations { return checkName(name) }
