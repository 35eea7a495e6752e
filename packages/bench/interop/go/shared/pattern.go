package shared

import "io"

// WritePattern writes the first count bytes of the pattern that every program serves.
func WritePattern(out io.Writer, count int) error {
	pattern := make([]byte, 251*256)
	for index := range pattern {
		pattern[index] = byte(index % 251 * 31 % 251)
	}
	for count > 0 {
		part := pattern[:min(count, len(pattern))]
		if _, err := out.Write(part); err != nil {
			return err
		}
		count -= len(part)
	}
	return nil
}
