// Package netguard says which addresses may be dialled.
package netguard
