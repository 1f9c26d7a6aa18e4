// Rules for the console's files that a test can check.
import assert from 'node:assert/strict'
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../../static/', import.meta.url))

/** filesIn returns the console's own files below a folder. @returns {string[]} */
const filesIn = (/** @type {string} */ path) =>
  readdirSync(join(folder, path)).flatMap((name) => (name === 'vendor' ? [] : statSync(join(folder, path, name)).isDirectory() ? filesIn(join(path, name)) : [join(path, name)]))

const files = filesIn('.').map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }))
const own = (/** @type {string} */ end) => files.filter(({ name }) => name.endsWith(end))

/** lines returns the matching lines of files, for the message. */
const lines = (/** @type {typeof files} */ among, /** @type {RegExp} */ wrong) =>
  among.flatMap(({ name, text }) => text.split('\n').flatMap((line, i) => (wrong.test(line) ? [`${name}:${i + 1}: ${line.trim().slice(0, 150)}`] : [])))

test('the files are found', () => assert.ok(own('.js').length > 20 && own('.css').length >= 4))

test('no text becomes markup or a program', () => {
  assert.deepEqual(lines(own('.js'), /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|srcdoc|javascript:/), [])
})

test('nothing is loaded from elsewhere, and nothing is inline', () => {
  assert.deepEqual(lines([...own('.html'), ...own('.css')], /(src|href)="https?:|@import|url\((?!["']?(data:|\.|#))/), [])
  assert.deepEqual(lines(own('.html'), /<style|\sstyle=|\son[a-z]+="|<script(?![^>]* src="\{static\})/), [])
})

test('colours are those of tokens.css', () => {
  const colour = /#[0-9a-f]{3,8}\b(?!-)|\brgba?\(|\bhsla?\(|\boklch\(|:\s*(white|black|red|green|blue|gr[ae]y|orange|yellow)\b/i
  assert.deepEqual(lines(own('.css').filter(({ name }) => !name.endsWith('tokens.css')), colour), [])
  assert.deepEqual(lines(own('.js'), /['"`\s]#(?:[0-9a-f]{3}|[0-9a-f]{6}|[0-9a-f]{8})['"`\s;]|\brgba?\(\s*\d|\bhsla?\(\s*\d/i), [])
})

test('help texts have the scheduler’s numbers from limits.js', () => {
  const help = [...own('.js').map(({ text }) => text).join('\n').matchAll(/\b(?:\w*[hH]elp\w*|rule|unreachable\w*): '((?:[^'\\]|\\.)*)'/g)].map((m) => m[1])
  assert.ok(help.length > 100)
  assert.deepEqual(help.filter((text) => /\b(\d[\d,]*|two|three|five|ten|thirty) (s|min|minutes?|hours?|seconds?|characters|letters|times)\b|[\d两三四五六七八九十] ?(秒|分钟|小时|个|次)/.test(text)), [])
})

test('all tokens that are used are defined', () => {
  const all = files.map(({ text }) => text).join('\n')
  const set = new Set([...all.matchAll(/(?:^|[\s{;'"`])(--[a-z0-9-]+)['"]?\s*:/gm)].map((m) => m[1]))
  for (const m of all.matchAll(/setProperty\(\s*['"](--[a-z0-9-]+)/g)) set.add(m[1])
  const used = new Set([...all.matchAll(/var\((--[a-z0-9-]+)\s*\)/g)].map((m) => m[1]))
  assert.deepEqual([...used].filter((name) => !set.has(name)), [])
})

test('no file has 400 lines', () => {
  assert.deepEqual(files.filter(({ text }) => text.split('\n').length > 400).map(({ name }) => name), [])
})
