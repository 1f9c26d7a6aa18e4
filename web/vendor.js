// Writes static/vendor, which contains the libraries that the pages import, from the packages that package.json pins. With --check it
// writes nothing, and fails if static/vendor differs.
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'

const folder = new URL('static/vendor/', import.meta.url)
const read = (/** @type {string} */ file) => readFileSync(new URL(`node_modules/${file}`, import.meta.url), 'utf8')

// Browsers accept only relative paths, and there are no source maps here.
const forBrowsers = (/** @type {string} */ text) =>
  text.replace(/from"preact"/g, 'from"./preact.js"').replace(/\n\/\/# sourceMappingURL=.*\n?$/, '\n')

/** @type {Record<string, string>} */
const wanted = {
  'preact.js': forBrowsers(read('preact/dist/preact.mjs')),
  'preact.d.ts': "export * from 'preact'\n",
  'hooks.js': forBrowsers(read('preact/hooks/dist/hooks.mjs')),
  'hooks.d.ts': "export * from 'preact/hooks'\n",
  'htm.js': forBrowsers(read('htm/dist/htm.module.js')),
  'htm.d.ts': "export { default } from 'htm'\n",
  // The package has its module only unminified, which is twice as large when compressed.
  'uplot.js': `${read('uplot/dist/uPlot.iife.min.js').trimEnd()}\nexport default uPlot;\n`,
  'uplot.d.ts': "export { default } from 'uplot'\n",
  'uplot.css': read('uplot/dist/uPlot.min.css'),
  'LICENSES': ['preact', 'htm', 'uplot']
    .map((name) => `${name} ${JSON.parse(read(`${name}/package.json`)).version}\n\n${read(`${name}/LICENSE`).trim()}\n`)
    .join(`\n${'-'.repeat(80)}\n\n`),
}

if (process.argv.includes('--check')) {
  const there = readdirSync(folder)
  const wrong = new Set([
    ...there.filter((name) => !(name in wanted)),
    ...Object.keys(wanted).filter((name) => !there.includes(name) || readFileSync(new URL(name, folder), 'utf8') !== wanted[name]),
  ])
  if (wrong.size > 0) {
    console.error(`static/vendor is not what the packages have (npm run vendor writes it): ${[...wrong].join(', ')}`)
    process.exit(1)
  }
} else {
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(wanted)) writeFileSync(new URL(name, folder), text)
}
