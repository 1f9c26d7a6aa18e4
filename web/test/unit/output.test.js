// The output of a program as lines.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { looks, plain, segments, visible } from '../../static/js/lib/ansi.js'
import { merged, timeOf } from '../../static/js/lib/merge.js'
import { Output } from '../../static/js/lib/output.js'

const bytes = (/** @type {string} */ text) => new TextEncoder().encode(text)
const drawn = (/** @type {string} */ text) => segments(text).segments.map((s) => [s.text, looks(s.style)])

test('colours are kept, every other sequence is left out', () => {
  for (const [text, want] of /** @type {[string, [string, string][]][]} */ ([
    ['plain', [['plain', '']]],
    ['', []],
    ['\x1b[31mred\x1b[0m not', [['red', 'fg-1'], [' not', '']]],
    ['\x1b[1;4;92;41mx', [['x', 'fg-10 bg-1 bold underline']]],
    ['\x1b[38;5;208mx\x1b[48;2;10;200;250my\x1b[39;49mz', [['x', 'fg-11'], ['y', 'fg-11 bg-14'], ['z', '']]],
    ['\x1b[38;5;999mx\x1b[38;2;1mx', [['x', ''], ['x', '']]],
    ['\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x1b[2J\x1b[1;1H\x1b[?25lc\x1b(Bd\x1bc', [['a', ''], ['b', ''], ['c', ''], ['d', '']]],
    ['a\x1b[3', [['a', '']]],
    ['a\x1b]0;never ends', [['a', '']]],
    ['\x1b[7mx\x1b[27my', [['x', 'fg-0 bg-7'], ['y', '']]],
    ['\x1b[31;7mx\x1b[27my', [['x', 'fg-0 bg-1'], ['y', 'fg-1']]],
    ['\x1b[7;31mx\x1b[7my', [['x', 'fg-0 bg-1'], ['y', 'fg-0 bg-1']]],
  ])) {
    assert.deepEqual(drawn(text), want, JSON.stringify(text))
  }
})

test('invisible characters are shown as pictures, and do not reverse the text', () => {
  assert.equal(visible('a\x00b\x07c\td\re\x7ff'), 'a␀b␇c\td␍e␡f')
  assert.equal(visible('a\u202egpj.exe\u202c'), 'a⟨RLO⟩gpj.exe⟨PDF⟩')
  assert.equal(visible('👨\u200d👩'), '👨\u200d👩')
  assert.equal(plain('\x1b[1mbold\x1b[0m\u2066'), 'bold⟨LRI⟩')
})

/** @param {Output} o */
const shape = (o) => o.blocks.flatMap((b) => b.lines).map((l) => [l.at, l.text, l.whole])

test('lines are the same however their bytes are split', () => {
  const text = 'one\r\ntwö 漢字 \x1b[31m\n\nlast 👍'
  const all = bytes(text)
  const whole = new Output()
  whole.append(all)
  assert.deepEqual(shape(whole).map((l) => l[1]), ['one', 'twö 漢字 \x1b[31m', '', 'last 👍'])
  for (let n = 2; n <= all.length; n++) {
    const o = new Output()
    for (let i = 0; i < all.length; i += n) o.append(all.subarray(i, i + n))
    assert.deepEqual(shape(o).map(([at, t]) => [at, String(t).replace('\r', '')]), shape(whole).map(([at, t]) => [at, t]), `by ${n}`)
    assert.equal(o.to, all.length)
    assert.equal(o.lines, 4)
    assert.deepEqual(o.blocks.flatMap((b) => b.lines).map((l) => l.style?.fg ?? null), [null, null, 1, 1])
  }
})

test('older bytes are inserted before, and complete the line that was cut', () => {
  const text = Array.from({ length: 500 }, (_, i) => `line ${i} é\n`).join('')
  const all = bytes(text)
  for (const size of [7, 64, 1000, all.length]) {
    const o = new Output()
    o.begin(all.length - 20)
    o.append(all.subarray(all.length - 20))
    for (let guard = 0; o.from > 0 && guard < 10_000; guard++) o.prepend(all.subarray(Math.max(0, o.from - size), o.from))
    assert.equal(o.from, 0)
    assert.equal(o.first, 1)
    assert.equal(o.blocks.flatMap((b) => b.lines).map((l) => l.text).join('\n'), text.trimEnd())
    for (const l of o.blocks.flatMap((b) => b.lines)) assert.equal(new TextDecoder().decode(all.subarray(l.at, l.at + l.bytes)).trimEnd(), l.text)
  }
})

test('bytes and lines are limited, and the position of the kept ones is known', () => {
  const o = new Output({ most: 10_000, maxLines: 300 })
  for (let i = 0; i < 5000; i++) {
    o.append(bytes(`line ${i}\n`))
    o.bound('begin')
  }
  assert.ok(o.to - o.from <= 10_000 && o.lines <= 300)
  const [first] = o.blocks[0].lines
  assert.equal(first.at, o.from)
  assert.equal(first.text, `line ${(o.first ?? 0) - 1}`)
  o.prepend(bytes('older 789\n'.repeat(800)))
  assert.equal(o.bound('end'), true)
  assert.ok(o.to - o.from <= 10_000)
  const before = o.to
  o.append(bytes('more\n'))
  assert.equal(o.blocks.at(-1)?.lines.at(-1)?.at, before)
})

test('lines of several outputs are in the order of their times', () => {
  const of = (/** @type {number} */ key, /** @type {string} */ text, arrived = 0) => {
    const o = new Output()
    o.append(bytes(text), arrived)
    return { key, lines: o.blocks.flatMap((b) => b.lines) }
  }
  const a = of(0, '2026-05-01T12:00:00.100Z a1\n  at trace\n2026-05-01T12:00:03Z a2\n')
  const b = of(1, '[2026-05-01 14:00:01,5 +02:00] b1\n2026/05/01 12:00:02 b2\n')
  const c = of(2, 'no time\n', Date.UTC(2026, 4, 1, 12, 0, 2, 500))
  const { lines, silent } = merged([a, b, c])
  assert.deepEqual(lines.map((m) => m.source), [0, 0, 1, 1, 2, 0])
  assert.deepEqual(silent, [2])
  assert.ok(Number.isNaN(timeOf(c.lines[0])))
})
