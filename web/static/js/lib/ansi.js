// Turns what a program wrote for a terminal into text with colours. Colours, bold and underline are kept. Every other escape
// sequence is left out, and none is executed. Other invisible characters are shown as symbols.

/**
 * Style is how a piece of text looks; null means the default. A colour is the number of one of 16; other colours are
 * replaced by the nearest of these.
 * @typedef {{fg: number | null, bg: number | null, bold: boolean, underline: boolean, dim: boolean, reverse: boolean}} Style
 */

/** @typedef {{text: string, style: Style | null}} Segment */

/** @type {Style} */
const usual = { fg: null, bg: null, bold: false, underline: false, dim: false, reverse: false }

// Matches CSI, OSC and similar sequences with their text, and escapes of two characters. An unfinished sequence extends to the
// end of the line.
const sequence = /\x1b\[[0-?]*[ -/]*(?:[@-~]|$)|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|$)|\x1b[ -/]*(?:[0-~]|$)|\x9b[0-?]*[ -/]*[@-~]/g

const hidden = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g
const names = new Map(Object.entries({ '\u061c': 'ALM', '\u200b': 'ZWSP', '\u200c': 'ZWNJ', '\u200d': 'ZWJ', '\u200e': 'LRM', '\u200f': 'RLM', '\u2028': 'LS', '\u2029': 'PS', '\u202a': 'LRE', '\u202b': 'RLE', '\u202c': 'PDF', '\u202d': 'LRO', '\u202e': 'RLO', '\u2066': 'LRI', '\u2067': 'RLI', '\u2068': 'FSI', '\u2069': 'PDI', '\ufeff': 'BOM' }))

/**
 * visible replaces characters that are invisible, or that would reverse the text around them, by symbols. It keeps joiners, which
 * emoji and some scripts require.
 * @param {string} text
 */
export const visible = (text) => text.replace(hidden, (c) => {
  const code = c.charCodeAt(0)
  if (c === '\u200c' || c === '\u200d') return c
  if (code < 0x20) return String.fromCharCode(0x2400 + code)
  if (code === 0x7f) return '\u2421'
  return `⟨${names.get(c) ?? code.toString(16).toUpperCase().padStart(4, '0')}⟩`
})

/**
 * plain returns a text without escape sequences, in the form in which it is searched.
 * @param {string} text
 */
export const plain = (text) => visible(/[\x1b\x9b]/.test(text) ? text.replace(sequence, '') : text)

/**
 * segments splits a text into pieces of one style each. It also returns the style with which the next line begins.
 * @param {string} text
 * @param {Style | null} style the style with which the line begins
 * @returns {{segments: Segment[], style: Style | null}}
 */
export function segments(text, style = null) {
  if (!/[\x1b\x9b]/.test(text)) return { segments: text ? [{ text: visible(text), style }] : [], style }
  /** @type {Segment[]} */
  const found = []
  let at = 0
  const add = (/** @type {number} */ to) => {
    if (to > at) found.push({ text: visible(text.slice(at, to)), style })
  }
  for (const m of text.matchAll(sequence)) {
    add(m.index)
    at = m.index + m[0].length
    const codes = /^(?:\x1b\[|\x9b)([0-9;:]*)m$/.exec(m[0])
    if (codes) style = applied(style, codes[1])
  }
  add(text.length)
  return { segments: found, style }
}

/**
 * applied returns the style that results from a style and SGR codes.
 * @param {Style | null} before
 * @param {string} codes
 * @returns {Style | null}
 */
function applied(before, codes) {
  const s = { ...(before ?? usual) }
  const n = codes.split(/[;:]/).map(Number)
  for (let i = 0; i < n.length; i++) {
    const c = n[i]
    if (c === 0) Object.assign(s, usual)
    else if (c === 1) s.bold = true
    else if (c === 2) s.dim = true
    else if (c === 4) s.underline = true
    else if (c === 22) s.bold = s.dim = false
    else if (c === 24) s.underline = false
    else if (c >= 30 && c <= 37) s.fg = c - 30
    else if (c >= 90 && c <= 97) s.fg = c - 82
    else if (c >= 40 && c <= 47) s.bg = c - 40
    else if (c >= 100 && c <= 107) s.bg = c - 92
    else if (c === 39) s.fg = null
    else if (c === 49) s.bg = null
    else if (c === 7) s.reverse = true
    else if (c === 27) s.reverse = false
    else if (c === 38 || c === 48) {
      const colour = n[i + 1] === 5 ? of256(n[i + 2]) : n[i + 1] === 2 ? nearest(n[i + 2], n[i + 3], n[i + 4]) : null
      i += n[i + 1] === 5 ? 2 : n[i + 1] === 2 ? 4 : 0
      if (c === 38) s.fg = colour
      else s.bg = colour
    }
  }
  return s.fg === null && s.bg === null && !s.bold && !s.underline && !s.dim && !s.reverse ? null : s
}

/** @param {number} n */
function of256(n) {
  if (!(n >= 0 && n <= 255)) return null
  if (n < 16) return n
  if (n >= 232) return nearest(8 + (n - 232) * 10, 8 + (n - 232) * 10, 8 + (n - 232) * 10)
  const part = (/** @type {number} */ x) => (x ? 55 + x * 40 : 0)
  return nearest(part(Math.floor((n - 16) / 36)), part(Math.floor((n - 16) / 6) % 6), part((n - 16) % 6))
}

/**
 * nearest returns the nearest of the 16 colours, which are readable in both themes.
 * @param {number} r @param {number} g @param {number} b
 */
function nearest(r, g, b) {
  if (![r, g, b].every((x) => x >= 0 && x <= 255)) return null
  const most = Math.max(r, g, b)
  const least = Math.min(r, g, b)
  if (most - least < 40) return most > 200 ? 15 : most > 128 ? 7 : most > 48 ? 8 : 0
  const half = (most + least) / 2
  const hue = (r > half ? 1 : 0) | (g > half ? 2 : 0) | (b > half ? 4 : 0)
  return most > 200 ? hue + 8 : hue
}

/**
 * looks returns the CSS classes of a style, '' for the default.
 * @param {Style | null} style
 */
export function looks(style) {
  if (!style) return ''
  const of = []
  const [fg, bg] = style.reverse ? [style.bg ?? 0, style.fg ?? 7] : [style.fg, style.bg]
  if (fg !== null) of.push(`fg-${fg}`)
  if (bg !== null) of.push(`bg-${bg}`)
  if (style.bold) of.push('bold')
  if (style.dim) of.push('dim')
  if (style.underline) of.push('underline')
  return of.join(' ')
}
