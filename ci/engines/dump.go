package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// started tells the times that an archive set from those that the clock did.
var started = time.Now().Unix() - 1

// name is a path with what stands there.
type name struct {
	path  string
	stat  unix.Stat_t
	first string
}

// dump writes a directory as msb's TreeDump does: path, type, mode, owner, size, time, device, link
// target, first of several names, xattrs, SHA-256. A time that the clock set is "now".
func dump(root string) (string, error) {
	names, err := walk(root)
	if err != nil {
		return "", err
	}
	group(names)
	var text strings.Builder
	for _, name := range names {
		line, err := name.line(root)
		if err != nil {
			return "", err
		}
		text.WriteString(line + "\n")
	}
	return text.String(), nil
}

func walk(root string) ([]name, error) {
	var names []name
	open := []string{""}
	for len(open) > 0 {
		path := open[len(open)-1]
		open = open[:len(open)-1]
		one := name{path: path}
		err := unix.Lstat(root+path, &one.stat)
		if errors.Is(err, unix.ENOENT) && path != "" {
			// Overlayfs lists a device 0:0 of a directory that only one layer has.
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("lstat %q: %w", path, err)
		}
		if one.stat.Mode&unix.S_IFMT == unix.S_IFDIR {
			entries, err := os.ReadDir(root + path)
			if err != nil {
				return nil, err
			}
			for _, entry := range entries {
				open = append(open, path+"/"+entry.Name())
			}
		}
		if path == "" {
			one.path = "/"
		}
		names = append(names, one)
	}
	slices.SortFunc(names, func(a, b name) int { return strings.Compare(a.path, b.path) })
	return names, nil
}

// group finds the names that share a file.
func group(names []name) {
	type group struct {
		first string
		count int
	}
	groups := map[uint64]*group{}
	for _, one := range names {
		if one.stat.Mode&unix.S_IFMT == unix.S_IFDIR {
			continue
		}
		if groups[one.stat.Ino] == nil {
			groups[one.stat.Ino] = &group{first: one.path}
		}
		groups[one.stat.Ino].count++
	}
	for index := range names {
		found := groups[names[index].stat.Ino]
		if names[index].stat.Mode&unix.S_IFMT != unix.S_IFDIR && found.count > 1 {
			names[index].first = found.first
		}
	}
}

func (n name) line(root string) (string, error) {
	path := root + n.path
	letter, size, device, target, links, digest := "-", "-", "-", "-", "-", "-"
	switch n.stat.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		letter = "d"
	case unix.S_IFLNK:
		letter = "l"
		text, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		target = escaped(text)
	case unix.S_IFCHR, unix.S_IFBLK:
		letter = map[uint32]string{unix.S_IFCHR: "c", unix.S_IFBLK: "b"}[n.stat.Mode&unix.S_IFMT]
		device = fmt.Sprintf("%d:%d", unix.Major(n.stat.Rdev), unix.Minor(n.stat.Rdev))
	case unix.S_IFIFO:
		letter = "p"
	case unix.S_IFSOCK:
		letter = "s"
	default:
		size = fmt.Sprint(n.stat.Size)
		sum, err := sum(path)
		if err != nil {
			return "", err
		}
		digest = sum
	}
	if n.first != "" {
		links = escaped(n.first)
	}
	shown, err := xattrs(path)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %s %04o %d:%d %s %s %s %s %s %s %s", escaped(n.path), letter,
		n.stat.Mode&0o7777, n.stat.Uid, n.stat.Gid, size, n.mtime(), device, target, links, shown,
		digest), nil
}

func (n name) mtime() string {
	if n.stat.Mtim.Sec >= started && n.stat.Mtim.Sec <= time.Now().Unix() {
		return "now"
	}
	return fmt.Sprintf("%d.%09d", n.stat.Mtim.Sec, n.stat.Mtim.Nsec)
}

func sum(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	digest := sha256.New()
	if _, err := io.Copy(digest, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(digest.Sum(nil)), nil
}

func xattrs(path string) (string, error) {
	buffer := make([]byte, 1<<16)
	length, err := unix.Llistxattr(path, buffer)
	if err != nil {
		return "", fmt.Errorf("listxattr %q: %w", path, err)
	}
	var shown []string
	names := bytes.Split(bytes.TrimSuffix(buffer[:length], []byte{0}), []byte{0})
	slices.SortFunc(names, bytes.Compare)
	for _, name := range names {
		if len(name) == 0 || bytes.HasPrefix(name, []byte("trusted.overlay.")) {
			continue
		}
		value := make([]byte, 1<<16)
		length, err := unix.Lgetxattr(path, string(name), value)
		if err != nil {
			return "", fmt.Errorf("getxattr %q: %w", path, err)
		}
		shown = append(shown, escaped(string(name))+"="+hex.EncodeToString(value[:length]))
	}
	if shown == nil {
		return "-", nil
	}
	return strings.Join(shown, ","), nil
}

// escaped spells bytes as Rust's escape_ascii does, and the space as \x20.
func escaped(text string) string {
	var out strings.Builder
	for _, byte := range []byte(text) {
		switch {
		case byte == '\t':
			out.WriteString(`\t`)
		case byte == '\r':
			out.WriteString(`\r`)
		case byte == '\n':
			out.WriteString(`\n`)
		case byte == '\'' || byte == '"' || byte == '\\':
			out.WriteByte('\\')
			out.WriteByte(byte)
		case byte > 0x20 && byte < 0x7f:
			out.WriteByte(byte)
		default:
			fmt.Fprintf(&out, `\x%02x`, byte)
		}
	}
	return out.String()
}
