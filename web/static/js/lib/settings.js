// What settings were, from what they are and how they came to be so.

/**
 * settingsAfter are the settings after each of a job's changes, the newest first, from what they are now: an update has what
 * the fields that it changed were before.
 * @param {any[]} rows
 * @param {any} now
 */
export function settingsAfter(rows, now) {
  let doc = now
  return rows.map((r) => {
    const after = r.action === 'job.register' ? (doc ?? r.after) : doc
    if (r.action === 'job.register') doc = null
    else if (r.action === 'job.delete') doc = r.before
    else if (r.action === 'job.update' && doc) doc = undone(doc, r)
    return r.action === 'job.delete' ? null : after
  })
}

/**
 * undone is a document without an update: a field that the update has only after it was not there before.
 * @param {any} doc
 * @param {{before: any, after: any}} update
 */
function undone(doc, { before, after }) {
  const was = { ...doc, ...before }
  for (const field of Object.keys({ ...before, ...after })) if (before?.[field] == null) delete was[field]
  return was
}
