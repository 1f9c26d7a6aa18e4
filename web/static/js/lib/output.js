// A part of an output file, in lines: the bytes from one offset to another. The part grows at both ends, and is cut at the end
// that is not visible. Lines are in blocks. A block is replaced as a whole, so that unchanged blocks need not be drawn again.
import { segments } from './ansi.js'

/**
 * @typedef {import('./ansi.js').Style} Style
 * @typedef {{at: number, bytes: number, text: string, whole: boolean, style: Style | null, arrived: number}} Line a line; `at` is its offset, `whole` is set if its end was read
 * @typedef {{key: number, lines: Line[], bytes: number}} Block
 */

const blockLines = 100
const maxLineBytes = 4 << 20 // a longer line is split

/** Output is the loaded part of one stream. Each change creates new blocks and increases version. */
export class Output {
  /** @param {{most?: number, maxLines?: number}} [bounds] the maximum numbers of bytes and of lines */
  constructor({ most = 8 << 20, maxLines = 100_000 } = {}) {
    this.most = most
    this.maxLines = maxLines
    this.version = 0
    this.keys = 0
    /** @type {Block[]} */
    this.blocks = []
    /** @type {number} the offset of the first line */
    this.from = 0
    /** @type {number} the offset of the bytes to append next */
    this.to = 0
    /** @type {number} the number of lines */
    this.lines = 0
    /** @type {number | null} the line number of the first line; null if it is not known */
    this.first = 1
    /** @type {Uint8Array} the first bytes of a character whose last bytes have not been appended yet */
    this.rest = new Uint8Array(0)
  }

  /** begin removes all lines. The next bytes to append are those at an offset. @param {number} offset */
  begin(offset) {
    this.blocks = []
    this.from = offset
    this.to = offset
    this.lines = 0
    this.first = offset === 0 ? 1 : null
    this.rest = new Uint8Array(0)
    this.version++
  }

  /** append adds the bytes that follow. @param {Uint8Array} bytes @param {number} [arrived] when they arrived, in milliseconds; 0 for unknown */
  append(bytes, arrived = 0) {
    if (!bytes.length) return
    this.to += bytes.length
    const all = joined(this.rest, bytes)
    const end = wholeEnd(all)
    this.rest = all.slice(end)
    const last = this.blocks.at(-1)?.lines.at(-1)
    const open = last && !last.whole ? last : null // the line that the bytes continue
    const begin = open ? open.at + open.bytes : this.to - all.length
    const lines = inLines(all.subarray(0, end), begin, arrived)
    if (open && lines.length) {
      const [more] = lines
      if (open.bytes + more.bytes <= maxLineBytes) {
        lines[0] = { ...open, text: open.text + more.text, bytes: open.bytes + more.bytes, whole: more.whole }
      } else {
        lines.unshift({ ...open, whole: true })
      }
      this.dropLast()
    }
    setStyles(lines, this.blocks.at(-1)?.lines.at(-1) ?? null)
    this.addLast(lines)
    this.version++
  }

  /**
   * prepend adds the bytes before the first line. It skips their first line if its beginning is missing, unless they have no other.
   * @param {Uint8Array} bytes
   */
  prepend(bytes) {
    if (!bytes.length) return
    const offset = this.from - bytes.length
    let skip = 0
    if (offset > 0) {
      const n = bytes.indexOf(10)
      skip = n >= 0 && n + 1 < bytes.length ? n + 1 : charBegin(bytes)
    }
    const lines = inLines(bytes.subarray(skip), offset + skip, 0)
    const head = this.blocks[0]
    const last = lines.at(-1)
    if (head && last && !last.whole) { // the present first line is the end of a line
      const [line, ...others] = head.lines
      if (last.bytes + line.bytes <= maxLineBytes) {
        lines[lines.length - 1] = { ...line, at: last.at, bytes: last.bytes + line.bytes, text: last.text + line.text }
        this.blocks[0] = { key: head.key, lines: others, bytes: head.bytes - line.bytes }
        this.lines--
        if (!others.length) this.blocks.shift()
      } else {
        last.whole = true
      }
    }
    setStyles(lines, null)
    this.from = offset + skip
    const blocks = []
    for (let i = lines.length; i > 0; i -= blockLines) blocks.unshift(this.block(lines.slice(Math.max(0, i - blockLines), i)))
    this.lines += lines.length
    this.blocks = [...blocks, ...this.blocks]
    this.first = this.from === 0 ? 1 : null
    this.version++
  }

  /** bound drops the lines beyond the limits, at the beginning or at the end. It reports whether it dropped any. @param {'begin' | 'end'} end */
  bound(end) {
    let dropped = false
    while (this.blocks.length > 2 && (this.to - this.from > this.most || this.lines > this.maxLines)) {
      dropped = true
      const gone = /** @type {Block} */ (end === 'begin' ? this.blocks.shift() : this.blocks.pop())
      this.lines -= gone.lines.length
      if (end === 'begin') {
        this.from = this.blocks[0].lines[0].at
        if (this.first !== null) this.first += gone.lines.length
      } else {
        this.to = gone.lines[0].at
        this.rest = new Uint8Array(0)
      }
    }
    if (dropped) {
      this.blocks = [...this.blocks]
      this.version++
    }
    return dropped
  }

  /** @param {Line[]} lines */
  block(lines) {
    return { key: ++this.keys, lines, bytes: lines.reduce((sum, l) => sum + l.bytes, 0) }
  }

  dropLast() {
    const block = /** @type {Block} */ (this.blocks.at(-1))
    const lines = block.lines.slice(0, -1)
    this.blocks = this.blocks.slice(0, -1)
    if (lines.length) this.blocks.push({ key: block.key, lines, bytes: block.bytes - block.lines[lines.length].bytes })
    this.lines--
  }

  /** @param {Line[]} lines */
  addLast(lines) {
    this.lines += lines.length
    const blocks = this.blocks.slice()
    const last = blocks.at(-1)
    let i = 0
    if (last && last.lines.length < blockLines) {
      i = blockLines - last.lines.length
      const all = last.lines.concat(lines.slice(0, i))
      blocks[blocks.length - 1] = { key: last.key, lines: all, bytes: last.bytes + lines.slice(0, i).reduce((sum, l) => sum + l.bytes, 0) }
    }
    for (; i < lines.length; i += blockLines) blocks.push(this.block(lines.slice(i, i + blockLines)))
    this.blocks = blocks
  }
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/**
 * inLines splits bytes into lines.
 * @param {Uint8Array} bytes
 * @param {number} offset the offset of the first byte
 * @param {number} arrived
 */
function inLines(bytes, offset, arrived) {
  /** @type {Line[]} */
  const lines = []
  for (let at = 0; at < bytes.length; ) {
    const n = bytes.indexOf(10, at)
    let end = n < 0 ? bytes.length : n + 1
    let whole = n >= 0
    if (end - at > maxLineBytes) {
      end = at + maxLineBytes
      while ((bytes[end] & 0xc0) === 0x80) end--
      whole = true
    }
    let stop = n >= 0 && end === n + 1 ? n : end
    if (stop < end && stop > at && bytes[stop - 1] === 13) stop--
    lines.push({ at: offset + at, bytes: end - at, text: decoder.decode(bytes.subarray(at, stop)), whole, style: null, arrived })
    at = end
  }
  return lines
}

/**
 * setStyles sets the style with which each line begins, which is the one with which the previous line ends.
 * @param {Line[]} lines
 * @param {Line | null} before
 */
function setStyles(lines, before) {
  let style = before ? styleAfter(before) : null
  for (const l of lines) {
    l.style = style
    style = styleAfter(l)
  }
}

/** styleAfter returns the style with which a line ends. @param {Line} line */
const styleAfter = (line) => (line.text.includes('\x1b') ? segments(line.text, line.style).style : line.style)

/** @param {Uint8Array} a @param {Uint8Array} b */
function joined(a, b) {
  if (!a.length) return b
  const all = new Uint8Array(a.length + b.length)
  all.set(a)
  all.set(b, a.length)
  return all
}

/** wholeEnd returns where the last complete character ends. @param {Uint8Array} bytes */
function wholeEnd(bytes) {
  for (let i = 1; i <= Math.min(3, bytes.length); i++) {
    const b = bytes[bytes.length - i]
    if ((b & 0xc0) === 0x80) continue
    const size = b >= 0xf0 ? 4 : b >= 0xe0 ? 3 : b >= 0xc0 ? 2 : 1
    return size > i ? bytes.length - i : bytes.length
  }
  return bytes.length
}

/** charBegin returns where the first complete character begins. @param {Uint8Array} bytes */
function charBegin(bytes) {
  let i = 0
  while (i < 3 && i < bytes.length && (bytes[i] & 0xc0) === 0x80) i++
  return i
}
