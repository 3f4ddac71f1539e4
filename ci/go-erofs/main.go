// Command go-erofs prints what EROFS images hold, as the reader of github.com/erofs/go-erofs sees
// it: one line a name, in the format of msb's tree dumps.
//
// Each line of the standard input names an image, and behind tabs its devices. Each answer ends
// with a line that holds a dot, or an exclamation mark and what went wrong.
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sort"
	"strings"

	erofs "github.com/erofs/go-erofs"
)

// lineMax is the longest line read: an image and its devices, each a path.
const lineMax = 1 << 20

func main() {
	out := bufio.NewWriter(os.Stdout)
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, lineMax)
	for in.Scan() {
		if err := answer(out, strings.Split(in.Text(), "\t")); err != nil {
			fmt.Fprintf(out, "! %s\n", escape(err.Error()))
		} else {
			fmt.Fprintln(out, ".")
		}
		if out.Flush() != nil {
			os.Exit(1)
		}
	}
}

// answer dumps one image: the first path; the others are its devices.
func answer(out io.Writer, paths []string) error {
	var files []io.ReaderAt
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		files = append(files, file)
	}
	var options []erofs.OpenOpt
	if len(files) > 1 {
		options = append(options, erofs.WithExtraDevices(files[1:]...))
	}
	image, err := erofs.Open(files[0], options...)
	if err != nil {
		return err
	}
	entries, err := walk(image)
	if err != nil {
		return err
	}
	for _, line := range lines(entries) {
		fmt.Fprintln(out, line)
	}
	return nil
}

// entry is one name.
type entry struct {
	path   string
	info   fs.FileInfo
	stat   *erofs.Stat
	target string
	sha256 string
}

// linkReader is what an image offers beside fs.FS.
type linkReader interface {
	ReadLink(name string) (string, error)
	Lstat(name string) (fs.FileInfo, error)
}

// walk lists every name, without recursion.
func walk(image fs.FS) ([]entry, error) {
	var entries []entry
	open := []string{""}
	for len(open) > 0 {
		path := open[len(open)-1]
		open = open[:len(open)-1]
		found, err := look(image, path)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", path, err)
		}
		entries = append(entries, found)
		if !found.info.IsDir() {
			continue
		}
		children, err := fs.ReadDir(image, name(path))
		if err != nil {
			return nil, fmt.Errorf("%q: %w", path, err)
		}
		for _, child := range children {
			open = append(open, path+"/"+child.Name())
		}
	}
	return entries, nil
}

// name is what the library calls a path: without the leading slash.
func name(path string) string {
	if path == "" {
		return "."
	}
	return path[1:]
}

func look(image fs.FS, path string) (entry, error) {
	links := image.(linkReader)
	info, err := links.Lstat(name(path))
	if err != nil {
		return entry{}, err
	}
	found := entry{path: path, info: info, stat: info.Sys().(*erofs.Stat)}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		found.target, err = links.ReadLink(name(path))
	case info.Mode().IsRegular():
		found.sha256, err = digest(image, name(path))
	}
	return found, err
}

func digest(image fs.FS, name string) (string, error) {
	file, err := image.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// lines formats the names in bytewise order of their paths.
func lines(entries []entry) []string {
	for i := range entries {
		if entries[i].path == "" {
			entries[i].path = "/"
		}
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].path < entries[j].path })
	first := map[int64]string{}
	count := map[int64]int{}
	for _, found := range entries {
		if _, known := first[found.stat.Ino]; !known {
			first[found.stat.Ino] = found.path
		}
		count[found.stat.Ino]++
	}
	var text []string
	for _, found := range entries {
		links := "-"
		if !found.info.IsDir() && count[found.stat.Ino] > 1 {
			links = escape(first[found.stat.Ino])
		}
		text = append(text, format(found, links))
	}
	return text
}

func format(found entry, links string) string {
	mode, stat := found.info.Mode(), found.stat
	size, device, target, sum := "-", "-", "-", "-"
	switch {
	case mode.IsRegular():
		size, sum = fmt.Sprint(found.info.Size()), found.sha256
	case mode&fs.ModeSymlink != 0:
		target = escape(found.target)
	case mode&fs.ModeDevice != 0:
		// The kernel's new_encode_dev.
		major, minor := stat.Rdev>>8&0xfff, stat.Rdev&0xff|stat.Rdev>>12&0xfff00
		device = fmt.Sprintf("%d:%d", major, minor)
	}
	return fmt.Sprintf("%s %c %04o %d:%d %s %d.%09d %s %s %s %s %s",
		escape(found.path), letter(mode), permissions(mode), stat.UID, stat.GID, size,
		int64(stat.Mtime), stat.MtimeNs, device, target, links, xattrs(stat.Xattrs), sum)
}

func letter(mode fs.FileMode) rune {
	switch {
	case mode.IsDir():
		return 'd'
	case mode&fs.ModeSymlink != 0:
		return 'l'
	case mode&fs.ModeNamedPipe != 0:
		return 'p'
	case mode&fs.ModeSocket != 0:
		return 's'
	case mode&fs.ModeCharDevice != 0:
		return 'c'
	case mode&fs.ModeDevice != 0:
		return 'b'
	case mode.IsRegular():
		return '-'
	}
	return '?'
}

func permissions(mode fs.FileMode) uint32 {
	bits := uint32(mode.Perm())
	for _, special := range []struct {
		flag fs.FileMode
		bit  uint32
	}{{fs.ModeSetuid, 0o4000}, {fs.ModeSetgid, 0o2000}, {fs.ModeSticky, 0o1000}} {
		if mode&special.flag != 0 {
			bits |= special.bit
		}
	}
	return bits
}

func xattrs(values map[string]string) string {
	var names []string
	for name := range values {
		if !strings.HasPrefix(name, "trusted.overlay.") {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "-"
	}
	sort.Strings(names)
	for i, name := range names {
		names[i] = escape(name) + "=" + hex.EncodeToString([]byte(values[name]))
	}
	return strings.Join(names, ",")
}

// escape shows bytes as Rust's escape_ascii does, and the space as a byte too.
func escape(text string) string {
	var out strings.Builder
	for _, b := range []byte(text) {
		switch {
		case b == '\t':
			out.WriteString(`\t`)
		case b == '\n':
			out.WriteString(`\n`)
		case b == '\r':
			out.WriteString(`\r`)
		case b == '\\' || b == '\'' || b == '"':
			out.WriteByte('\\')
			out.WriteByte(b)
		case b > ' ' && b < 0x7f:
			out.WriteByte(b)
		default:
			fmt.Fprintf(&out, `\x%02x`, b)
		}
	}
	return out.String()
}
