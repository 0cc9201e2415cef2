/*
 * model.js - the recording, made ready to be asked: what is done at a step, what memory and counters
 * look like at a time, which step of one kernel answers to which of another. Draws nothing.
 */
'use strict';

const KINDS = ['global load', 'global store', 'global atomic', 'shared load', 'shared store',
               'shared atomic', 'barrier', '__syncwarp', 'shuffle', 'vote', 'mma', 'ldmatrix',
               'asynchronous copy'];
const SHARED_LOAD = 3, ACCESS_KINDS = 6, BARRIER = 6;
const LANES = 32, SECTOR = 32, LINE = 128, WORD = 4, BANKS = 32;
const FOLLOWED = 'A.values';

const trace = JSON.parse(document.getElementById('trace').textContent);

const isShared = kind => kind >= SHARED_LOAD && kind < ACCESS_KINDS;
const isAccess = kind => kind < ACCESS_KINDS;
/* The colour class of a kind: accesses, barriers, and all else. */
const colourOf = kind => 'k' + Math.min(kind, 7);

/* ---- steps ----------------------------------------------------------------------------------- */

/* A step from its list of numbers; page.c says in which order they are. */
function readStep(numbers, index) {
  const [line, warp, kind, size, mask] = numbers;
  const step = {index, line, warp, kind, size, lanes: [], at: new Array(LANES).fill(null),
                barrier: 0, bytes: 0, cost: 0, ideal: 0, serial: 0};
  for (let l = 0; l < LANES; l++)
    if (mask >>> l & 1) step.lanes.push(l);
  if (!isAccess(kind)) {
    step.barrier = numbers[5];
    return step;
  }
  [step.bytes, step.cost, step.ideal, step.serial] = numbers.slice(5, 9);
  const addresses = numbers.slice(9);
  let at = addresses[0];
  step.lanes.forEach((lane, i) => {
    /* Two numbers for more lanes: the second is the distance of all. */
    if (i > 0) at += addresses.length === 2 ? addresses[1] : addresses[i];
    step.at[lane] = at;
  });
  return step;
}

/* Bytes that a lane asks for: a bulk copy is one lane's, and longer than any instruction's. */
const laneBytes = step => step.lanes.length === 1 ? Math.max(step.bytes, 1) : step.size;

/* Gives each step its turn: a warp executes a step a turn, and waits at a barrier for the last that comes. */
function tellTime(kernel) {
  const clock = new Array(kernel.warps).fill(0), passed = new Array(kernel.warps).fill(0);
  const come = new Map();  /* barrier -> the turn of the last arrival */
  for (const step of kernel.steps) {
    const w = step.warp;
    if (passed[w] && step.barrier !== passed[w]) {
      clock[w] = Math.max(clock[w], come.get(passed[w]) + 1);
      passed[w] = 0;
    }
    step.turn = clock[w]++;
    if (!step.barrier) continue;
    come.set(step.barrier, Math.max(come.get(step.barrier) || 0, step.turn));
    passed[w] = step.barrier;
  }
  for (const step of kernel.steps)
    step.release = step.barrier ? come.get(step.barrier) : step.turn;
  kernel.turns = kernel.steps.reduce((most, s) => Math.max(most, s.turn + 1), 1);
}

/* Makes the first static variable of the kernel begin at bank 0, as it does on a GPU: in the program that was
 * recorded, other kernels' variables lie before it. Pairs of words stay pairs. */
function alignShared(kernel) {
  const starts = kernel.arrays.filter(a => a.shared).map(a => a.start);
  const shift = starts.length ? Math.floor(Math.min(...starts) / 16) * 16 : 0;
  for (const array of kernel.arrays) if (array.shared) array.start -= shift;
  for (const step of kernel.steps)
    if (isShared(step.kind)) step.at = step.at.map(at => at === null ? null : at - shift);
}

function readKernel(kernel) {
  kernel.steps = kernel.steps.map(readStep);
  alignShared(kernel);
  tellTime(kernel);
  kernel.byWarp = Array.from({length: kernel.warps}, () => []);
  for (const step of kernel.steps) {
    step.ordinal = kernel.byWarp[step.warp].length;
    kernel.byWarp[step.warp].push(step);
  }
  kernel.lastOf = kernel.byWarp.map(steps => {
    const last = new Array(LANES).fill(-1);
    for (const step of steps) for (const lane of step.lanes) last[lane] = step.ordinal;
    return last;
  });
  kernel.places = kernel.lines.map(where => {
    const colon = where.lastIndexOf(':');
    return {where, file: where.slice(0, colon), number: +where.slice(colon + 1)};
  });
  kernel.stores = kernel.steps.filter(s => s.kind === 4 || s.kind === 5);
  kernel.title = kernel.lab ? `lab${kernel.lab} ${kernel.contender}` : kernel.contender;
  /* The file with most steps is what a reader wants to see first. */
  const count = {};
  for (const step of kernel.steps) {
    const {file} = kernel.places[step.line];
    count[file] = (count[file] || 0) + 1;
  }
  kernel.file = Object.keys(count).sort((a, b) => count[b] - count[a])[0] || '';
}
trace.kernels.forEach(readKernel);

/* ---- what an address is called --------------------------------------------------------------- */

function arrayAt(kernel, kind, address) {
  return kernel.arrays.find(a => a.shared === isShared(kind) && address >= a.start &&
                                 address < a.start + a.bytes);
}

/* "B[37][4]", "A.col_idx[12]", "tile_col, word 3". Rows of B and C are as long as N is wide. */
function nameOf(kernel, kind, size, address) {
  const array = arrayAt(kernel, kind, address);
  if (!array) return `${isShared(kind) ? 'shared' : 'global'} byte ${address}`;
  const offset = address - array.start, element = array.element || size || WORD;
  const index = Math.floor(offset / element);
  if (trace.operation === 'spmm' && /^[BC]$/.test(array.name))
    return `${array.name}[${Math.floor(index / trace.width)}][${index % trace.width}]`;
  return `${array.name}[${index}]`;
}

/* ---- what a step moves ----------------------------------------------------------------------- */

/* The 128-byte lines that an access to global memory touches, in order: {line, sectors: a set, words:
 * number of the word in its line -> lanes}. */
function linesTouched(step) {
  const lines = new Map(), bytes = laneBytes(step);
  for (const lane of step.lanes) {
    for (let at = step.at[lane] - step.at[lane] % Math.min(WORD, bytes); at < step.at[lane] + bytes; at += Math.min(WORD, bytes)) {
      const number = Math.floor(at / LINE), inLine = at - number * LINE;
      if (!lines.has(number)) lines.set(number, {line: number, sectors: new Set(), words: new Map()});
      const line = lines.get(number), word = Math.floor(inLine / WORD);
      line.sectors.add(Math.floor(inLine / SECTOR));
      if (!line.words.has(word)) line.words.set(word, []);
      if (!line.words.get(word).includes(lane)) line.words.get(word).push(lane);
    }
  }
  return [...lines.values()].sort((a, b) => a.line - b.line);
}

const sectorsTouched = step => linesTouched(step).reduce((sum, l) => sum + l.sectors.size, 0);

/* Whether lanes l and l ^ distance want the same address, as far as both want any. */
function alike(step, distance) {
  return step.lanes.every(l => step.at[l ^ distance] === null || step.at[l ^ distance] === step.at[l]);
}

/* The passes of an access to shared memory (docs/counters.md has the rule): a list of passes, each a map from
 * bank to {word, lanes}. */
function wavefronts(step) {
  const bytes = laneBytes(step), passes = [];
  let together = bytes <= WORD ? LANES : Math.max(1, Math.floor(LINE / bytes));
  if (bytes > WORD && step.kind === SHARED_LOAD && (alike(step, 1) || alike(step, 2))) together *= 2;
  for (let first = 0; first < LANES; first += together) {
    const piles = new Map(), base = passes.length;  /* bank -> the words it delivers, in order */
    for (const lane of step.lanes.filter(l => l >= first && l < first + together)) {
      for (let at = step.at[lane]; at < step.at[lane] + bytes; at += WORD) {
        const word = Math.floor(at / WORD), bank = word % BANKS;
        if (!piles.has(bank)) piles.set(bank, new Map());
        const pile = piles.get(bank);
        if (!pile.has(word)) pile.set(word, []);
        if (!pile.get(word).includes(lane)) pile.get(word).push(lane);
      }
    }
    for (const [bank, pile] of piles)
      [...pile].forEach(([word, lanes], height) => {
        while (passes.length <= base + height) passes.push(new Map());
        passes[base + height].set(bank, {word, lanes});
      });
  }
  return passes;
}

/* Who wrote each word of shared memory, by the end of this step's turn: word -> lane. The turn's own step
 * of the same warp counts, too. */
function sharedWriters(kernel, until) {
  const writers = new Map();
  for (const step of kernel.stores) {
    if (step.turn > until.turn || (step.turn === until.turn && step.warp !== until.warp)) continue;
    for (const lane of step.lanes)
      for (let at = step.at[lane]; at < step.at[lane] + laneBytes(step); at += WORD)
        writers.set(Math.floor(at / WORD), {lane, warp: step.warp});
  }
  return writers;
}

/* ---- counters -------------------------------------------------------------------------------- */

/* Sums of steps of a warp, by kind, and the lanes active in accesses. */
function countSteps(steps) {
  const sums = {kinds: KINDS.map(() => ({requests: 0, bytes: 0, cost: 0, ideal: 0})), lanes: 0, accesses: 0};
  for (const step of steps) {
    const k = sums.kinds[step.kind];
    k.requests++;
    k.bytes += step.bytes;
    k.cost += step.cost;
    k.ideal += step.ideal;
    if (!isAccess(step.kind)) continue;
    sums.accesses++;
    sums.lanes += step.lanes.length;
  }
  return sums;
}

/* Costs of the whole kernel by file and line, as --counters prints them. */
function lineCosts(kernel) {
  const lines = new Map();
  for (const [where, kind, , requests, , , cost, ideal] of kernel.costs) {
    if (!lines.has(where)) lines.set(where, {requests: 0, sectors: 0, conflicts: 0});
    const sum = lines.get(where);
    sum.requests += requests;
    if (!isShared(kind)) sum.sectors += cost;
    else if (kind !== 5) sum.conflicts += cost - ideal;
  }
  return lines;
}

/* "76.0 k", with three digits, as the tables of --counters have it. */
function amount(value) {
  if (value < 1000) return String(value);
  for (const [unit, size] of [['G', 1e9], ['M', 1e6], ['k', 1e3]])
    if (value >= size * 0.9995) return (value / size).toPrecision(3) + ' ' + unit;
  return String(value);
}

/* ---- two kernels side by side ---------------------------------------------------------------- */

/* Steps that load an element of A.values: element -> steps. */
function valueLoads(kernel) {
  if (kernel.valueLoads) return kernel.valueLoads;
  const values = kernel.arrays.find(a => a.name === FOLLOWED), loads = new Map();
  for (const step of values ? kernel.steps : []) {
    if (step.kind !== 0) continue;
    step.values = new Map();
    for (const lane of step.lanes)
      for (let at = step.at[lane]; at < step.at[lane] + step.size; at += values.element) {
        const element = Math.floor((at - values.start) / values.element);
        if (at < values.start || at >= values.start + values.bytes) continue;
        if (!step.values.has(lane)) step.values.set(lane, element);
        if (!loads.has(element)) loads.set(element, []);
        if (loads.get(element)[loads.get(element).length - 1] !== step) loads.get(element).push(step);
      }
  }
  return kernel.valueLoads = loads;
}

/* The nonzero at hand: the value of A that the watched lane loaded last, or else any lane. */
function nonzeroAt(kernel, step, watched) {
  valueLoads(kernel);
  const steps = kernel.byWarp[step.warp];
  for (let i = step.ordinal; i >= 0; i--) {
    const values = steps[i].values;
    if (values && values.size)
      return {element: values.has(watched) ? values.get(watched) : [...values.values()][0], step: steps[i]};
  }
  return null;
}

/* The step of `other` at which the same nonzero is loaded, for the same time if several are. */
function sameNonzero(kernel, step, watched, other, warp) {
  const found = nonzeroAt(kernel, step, watched);
  if (!found) return null;
  const there = valueLoads(other).get(found.element);
  if (!there) return {element: found.element, step: null};
  const time = valueLoads(kernel).get(found.element).indexOf(found.step);
  const own = there.filter(s => s.warp === warp), list = own.length ? own : there;
  return {element: found.element, step: list[Math.min(time, list.length - 1)]};
}

/* Names what a line does: the kinds of its steps and the arrays they go to. */
function deedOf(kernel, line) {
  kernel.deeds = kernel.deeds || [];
  if (kernel.deeds[line]) return kernel.deeds[line];
  const parts = new Set();
  for (const step of kernel.steps.filter(s => s.line === line)) {
    const array = isAccess(step.kind) && arrayAt(kernel, step.kind, step.at[step.lanes[0]]);
    parts.add(KINDS[step.kind] + ' ' + (array ? array.name : ''));
  }
  return kernel.deeds[line] = [...parts].sort().join();
}

function sourceLine(place) {
  const text = trace.files[place.file];
  if (text === null || text === undefined) return null;
  return (text.split('\n')[place.number - 1] || '').trim();
}

/* The line of `other` that answers to a line of `kernel`: the same, one that reads the same, or one that
 * does the same; -1: none. */
function sameLine(kernel, line, other) {
  const place = kernel.places[line], text = sourceLine(place), deed = deedOf(kernel, line);
  const rules = [p => p.where === place.where, p => text && sourceLine(p) === text,
                 (p, i) => deedOf(other, i) === deed];
  for (const rule of rules) {
    const found = other.places.findIndex(rule);
    if (found >= 0) return found;
  }
  return -1;
}

/* The step of `other`, in this warp, that executes the line for the same time. */
function sameLineStep(kernel, step, other, warp) {
  const line = sameLine(kernel, step.line, other);
  if (line < 0) return null;
  const time = kernel.byWarp[step.warp].filter(s => s.line === step.line && s.ordinal < step.ordinal).length;
  const list = other.byWarp[warp].filter(s => s.line === line);
  return list[Math.min(time, list.length - 1)] || null;
}
