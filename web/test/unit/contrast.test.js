// Contrasts of the tokens, as WCAG 2.2 measures them: 4.5:1 for text, 3:1 for marks.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

const css = readFileSync(new URL('../../static/css/tokens.css', import.meta.url), 'utf8')

/** tokensOf returns the colours of one block. */
const tokensOf = (/** @type {string} */ selector) => {
  const begin = css.indexOf(`\n${selector} {`)
  assert.ok(begin >= 0, `tokens.css has ${selector}`)
  const block = css.slice(begin, css.indexOf('\n}', begin))
  return Object.fromEntries([...block.matchAll(/--([a-z0-9-]+): (#[0-9a-f]{6});/g)].map((m) => [m[1], m[2]]))
}

const light = tokensOf(':root')
const themes = { light, dark: { ...light, ...tokensOf(':root[data-theme="dark"]') } }

const luminance = (/** @type {string} */ colour) => {
  const [r, g, b] = [1, 3, 5]
    .map((at) => parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

const contrast = (/** @type {string} */ one, /** @type {string} */ other) => {
  const [dark, bright] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (bright + 0.05) / (dark + 0.05)
}

const grounds = ['bg', 'bg-raised', 'bg-sunken', 'bg-hover']
const states = Object.keys(light).filter((name) => `${name}-soft` in light)

/** pairs are a foreground, its background and their minimum contrast. */
const pairs = [
  ...['text', 'text-2', ...states].flatMap((front) => grounds.map((ground) => /** @type {const} */ ([front, ground, 4.5]))),
  ...states.flatMap((state) => [state, 'text', 'text-2'].map((front) => /** @type {const} */ ([front, `${state}-soft`, 4.5]))),
  /** @type {const} */ (['on-accent', 'accent', 4.5]),
  ...grounds.map((ground) => /** @type {const} */ (['line-strong', ground, 3])),
]

test('the measure is that of WCAG', () => {
  assert.equal(contrast('#000000', '#ffffff'), 21)
  assert.equal(contrast('#777777', '#ffffff').toFixed(2), '4.48')
})

for (const [theme, tokens] of Object.entries(themes)) {
  test(`contrasts in the ${theme} theme`, () => {
    assert.ok(states.includes('failed') && states.length >= 9, `states with a soft colour: ${states}`)
    const weak = pairs
      .map(([front, ground, least]) => ({ front, ground, least, is: contrast(tokens[front], tokens[ground]) }))
      .filter(({ is, least }) => !(is >= least))
    assert.deepEqual(weak.map(({ front, ground, least, is }) => `--${front} on --${ground}: ${is.toFixed(2)}, want ${least}`), [])
  })

  test(`the ${theme} theme has every colour as #rrggbb`, () => {
    for (const name of ['bg', 'text', 'line-strong', 'on-accent']) assert.match(tokens[name] ?? '', /^#/, name)
  })
}

test('the dark theme has each colour of the light one', () => {
  assert.deepEqual(Object.keys(tokensOf(':root[data-theme="dark"]')), Object.keys(light))
})
