-- filter.lua - what becomes of a text of the repository on its way to a page of the site.
--
-- pandoc runs it for each page. The metadata say: `source`, the file that the page is made of; `list`, what
-- scripts/site-pages printed; `themes`, the file site/themes.tsv.
-- A link to a file becomes a link to its page; one that leads nowhere, and a picture without a text, ends the build.

local text = pandoc.utils.stringify
local source, root, here  -- the page's source; "../" for each folder above its page; its row of the list
local pages = {}          -- the row of a source; rows by number are in the list's order

local function fail(what)
  io.stderr:write('site: ', source, ': ', what, '\n')
  os.exit(1)
end

-- Reads the lines of a file with tabs between their cells; comments begin with #.
local function rows(name)
  local all = {}
  for line in io.lines(name) do
    if line:sub(1, 1) ~= '#' then
      local cells = {}
      for cell in (line .. '\t'):gmatch('([^\t]*)\t') do cells[#cells + 1] = cell end
      all[#all + 1] = cells
    end
  end
  return all
end

local function read_pages(name)
  for _, row in ipairs(rows(name)) do
    local page = { kind = row[1], source = row[2], page = row[3], title = row[4]:gsub('`', '') }
    pages[#pages + 1] = page
    pages[page.source] = page
  end
  for _, page in ipairs(pages) do -- a folder is its README, if that has a page
    local folder = page.source:match('^(.*)/README%.md$')
    if folder and not pages[folder] then pages[folder] = page end
  end
end

-- a/b/../c is a/c.
local function resolve(path)
  local kept = {}
  for part in path:gmatch('[^/]+') do
    if part == '..' then table.remove(kept) elseif part ~= '.' then kept[#kept + 1] = part end
  end
  return table.concat(kept, '/')
end

-- page_of TARGET: the address, from this page, of the page or picture of a target written in this source.
local function page_of(target)
  local path, fragment = target:match('^([^#]*)(.*)$')
  local folder = path:match('^/') and '' or source:match('^.*/') or ''
  local page = pages[resolve(folder .. path)]
  if not page then fail('dead link: ' .. target) end
  return root .. page.page .. fragment
end

-- ---- elements ----------------------------------------------------------------------------------

local function Link(link)
  if link.target:match('^%a[%w+.-]*:') or link.target:match('^#') then return end
  link.target = page_of(link.target)
  return link
end

-- A drawing leads to itself: on a phone it can be looked at alone.
local function drawing(image)
  local words = text(image.caption)
  if words == '' then fail('no alt text: ' .. image.src) end
  image.src = page_of(image.src)
  return pandoc.Link({ image }, image.src, '', { class = 'drawing' })
end

-- A picture of the report has its file's name for a text: the first sentence of its caption says more.
local function captions(blocks)
  for i = 1, #blocks - 1 do
    local image = blocks[i].t == 'Para' and #blocks[i].content == 1 and blocks[i].content[1]
    local caption = blocks[i + 1]
    if image and image.t == 'Image' and caption.t == 'Para' and text(caption):match('^Figure %d+%. ') then
      local words = text(caption)
      image.caption = { pandoc.Str(words:match('^Figure %d+%. .-%. ') or words) }
    end
  end
  return blocks
end

-- The text of each cell of a row.
local function words_of(row)
  local words = {}
  for i, cell in ipairs(row) do words[i] = text(pandoc.Pandoc(cell)) end
  return words
end

-- Columns of numbers stand right, and a table that is too wide for a phone scrolls in its own box.
local function is_number(words)
  return words:match('^[-+]?%d[%d.,]*%s?[%%x]?$') or words:match('^%d+ of %d+$')
end

local function Table(full)
  local simple = pandoc.utils.to_simple_table(full)
  for column, align in ipairs(simple.aligns) do
    local numbers, others = 0, 0
    for _, row in ipairs(simple.rows) do
      local words = words_of(row)[column]:gsub(' %(behind%)', '')
      if is_number(words) then numbers = numbers + 1 elseif words ~= '-' and words ~= '' then others = others + 1 end
    end
    if align == 'AlignDefault' and numbers > others * 4 then simple.aligns[column] = 'AlignRight' end
  end
  return pandoc.Div({ pandoc.utils.from_simple_table(simple) }, { class = 'scroll' })
end

-- ```sh gpu reaches the filter as the class sh-gpu (scripts/site-page): the page says which commands need what.
local needs = { gpu = 'needs a GPU', ['run-by-hand'] = 'takes long, or makes files' }

local function CodeBlock(block)
  local what = (block.classes[1] or ''):match('^sh%-(.*)')
  if not what then return end
  block.classes = { 'sh' }
  return pandoc.Div({ pandoc.Para({ pandoc.Str(needs[what] or fail('unknown kind of commands: ' .. what)) }), block },
    { class = 'needs' })
end

-- ---- the ladder --------------------------------------------------------------------------------

-- rung ROW, MOST: a line of README's table, | [lab](handout) | idea | ratio | ahead on | vendor |, as a link to the
-- handout. Its bar is as long as the ratio, beside a mark at 1; a bar of MOST fills its place.
local function rung(row, most)
  local cells = words_of(row)
  local handout = row[1][1].content[1]
  local name, idea = cells[2]:match('^([^:]*): (.*)$')
  local ratio = tonumber(cells[3])
  local figure
  if ratio then
    figure = {
      pandoc.Span({}, { class = ratio >= 1 and 'bar ahead' or 'bar',
        style = string.format('--ratio:%.1f%%;--one:%.1f%%', ratio / most * 100, 100 / most) }),
      pandoc.Strong(cells[3]),
      pandoc.Str(' '),
      pandoc.Span('ahead on ' .. cells[4] .. '; ' .. cells[5], { class = 'vendor' }),
    }
  else
    figure = { pandoc.Span(cells[5]:gsub(' yet$', ''), { class = 'vendor' }) }
  end
  return pandoc.Link({
    pandoc.Span(cells[1], { class = 'number' }),
    pandoc.Str(' '),
    pandoc.Span({ pandoc.Strong(name or cells[2]), pandoc.Str(' ' .. (idea or '')) }, { class = 'idea' }),
    pandoc.Str(' '),
    pandoc.Span(figure, { class = 'figure' }),
  }, handout.target, '', { class = 'rung' })
end

-- ladder TABLE, THEMES: the table as a list of rungs under each theme.
local function ladder(full, themes)
  local blocks, theme, rungs = {}, 0, nil
  local lines, most = pandoc.utils.to_simple_table(full).rows, 1
  for _, row in ipairs(lines) do most = math.max(most, tonumber(words_of(row)[3]) or 0) end
  for _, row in ipairs(lines) do
    local number = tonumber(words_of(row)[1])
    while themes[theme + 1] and tonumber(themes[theme + 1][1]) <= number do
      theme, rungs = theme + 1, nil
    end
    if not rungs then
      rungs = {}
      blocks[#blocks + 1] = pandoc.Header(3, { pandoc.Str(themes[theme][2]) }, { id = 'labs-from-' .. themes[theme][1] })
      blocks[#blocks + 1] = pandoc.Div({}, { class = 'ladder' })
    end
    rungs[#rungs + 1] = { pandoc.Plain({ rung(row, most) }) }
    blocks[#blocks].content = { pandoc.BulletList(rungs) }
  end
  return blocks
end

-- The front page: the ladder comes first, before the commands.
local function front(blocks, themes)
  local before, section, after = {}, {}, {}
  local into = before
  for _, block in ipairs(blocks) do
    if block.t == 'Header' and block.level == 2 then
      into = text(block) == 'The ladder' and section or after
    end
    if into == section and block.t == 'Table' then
      local above = into[#into].t == 'Para' and table.remove(into) -- device and commits go below what they are of
      if above then into[#into + 1] = pandoc.Para({ pandoc.Str('The mark beside each bar is the vendor, at 1.') }) end
      for _, b in ipairs(ladder(block, themes)) do into[#into + 1] = b end
      if above then into[#into + 1] = pandoc.Div({ above }, { class = 'origin' }) end
    else
      into[#into + 1] = block
    end
  end
  local all = pandoc.List(before)
  all:extend(section)
  all:extend(after)
  return all
end

-- ---- the frame ---------------------------------------------------------------------------------

-- Links to the pages of the same lab, and to the labs before and after it.
local function frame_of_lab(meta)
  local folder = source:match('^labs/[^/]+/')
  if not folder then return end
  local names = { ['README.md'] = 'Handout', ['LOG.md'] = 'Notebook' }
  local parts, handouts = {}, {}
  for _, page in ipairs(pages) do
    if page.source:match('^labs/[^/]+/README%.md$') then handouts[#handouts + 1] = page end
    if page.source:sub(1, #folder) == folder and page.kind ~= 'copy' and page.kind ~= 'folder' then
      local file = page.source:sub(#folder + 1)
      local name = page.kind == 'trace' and 'See it: ' .. page.title or names[file] or file
      parts[#parts + 1] = { href = root .. page.page, name = name, current = page == here and 'page' or nil }
    end
  end
  meta.parts = parts
  for i, page in ipairs(handouts) do
    if page == here then
      local function neighbour(p) return p and { href = root .. p.page, title = p.title } end
      meta.previous, meta.next = neighbour(handouts[i - 1]), neighbour(handouts[i + 1])
    end
  end
end

-- The title leaves the text: the frame has a place for it.
local function take_title(doc)
  for i, block in ipairs(doc.blocks) do
    if block.t == 'Header' and block.level == 1 then
      doc.meta.title = pandoc.MetaInlines(block.content)
      doc.meta.titleid = block.identifier
      table.remove(doc.blocks, i)
      break
    end
  end
  doc.meta.pagetitle = doc.meta.title and text(doc.meta.title) or fail('no title')
end

local function begin(meta)
  source = text(meta.source)
  read_pages(text(meta.list))
  here = pages[source] or fail('not in the list of pages')
  root = here.page:gsub('[^/]*$', ''):gsub('[^/]+/', '../')
end

local function frame(doc)
  local meta = doc.meta
  take_title(doc)
  if source == 'README.md' then
    doc.blocks = front(doc.blocks, rows(text(meta.themes)))
    meta.front = true
  end
  frame_of_lab(meta)
  meta.root = root
  meta.report = pages['report/report.md'] and root .. pages['report/report.md'].page
  return doc
end

-- One after the other: the ladder is made of a table whose links are addresses already.
return {
  { Meta = begin },
  { Link = Link, Blocks = captions, CodeBlock = CodeBlock },
  { Image = drawing },
  { Pandoc = frame },
  { Table = Table },
}
