-- A program for the Lua interpreter to be profiled with: Conway's life on a torus, word counts, closures, coroutines,
-- errors caught and patterns. What it prints depends on nothing but itself.

local Life = {}
Life.__index = Life

function Life.new(width, height, seed)
  local self = setmetatable({ width = width, height = height, cells = {} }, Life)
  for i = 1, width * height do
    seed = (seed * 1103515245 + 12345) % 2147483648
    self.cells[i] = seed // 65536 % 3 == 0 and 1 or 0
  end
  return self
end

function Life:neighbours(x, y)
  local count = 0
  for dy = -1, 1 do
    for dx = -1, 1 do
      if dx ~= 0 or dy ~= 0 then
        count = count + self.cells[(y + dy) % self.height * self.width + (x + dx) % self.width + 1]
      end
    end
  end
  return count
end

function Life:step()
  local next_cells = {}
  for y = 0, self.height - 1 do
    for x = 0, self.width - 1 do
      local n, i = self:neighbours(x, y), y * self.width + x + 1
      next_cells[i] = (n == 3 or n == 2 and self.cells[i] == 1) and 1 or 0
    end
  end
  self.cells = next_cells
end

function Life:alive()
  local sum = 0
  for _, cell in ipairs(self.cells) do sum = sum + cell end
  return sum
end

local rounds = tonumber(arg and arg[1]) or 60
local life = Life.new(64, 48, 42)
for _ = 1, rounds do life:step() end
print("alive after " .. rounds .. " rounds: " .. life:alive())

local words, text = {}, ("the quick brown fox jumps over the lazy dog and the cat "):rep(200)
for word in text:gmatch("%a+") do words[word] = (words[word] or 0) + 1 end
local names = {}
for name in pairs(words) do names[#names + 1] = name end
table.sort(names, function(a, b) return words[a] > words[b] or words[a] == words[b] and a < b end)
print(table.concat(names, " "), words.the)

local function permutations(list, n)
  n = n or #list
  if n == 1 then coroutine.yield(list) end
  for i = 1, n do
    list[n], list[i] = list[i], list[n]
    if n > 1 then permutations(list, n - 1) end
    list[n], list[i] = list[i], list[n]
  end
end
local count = 0
for list in coroutine.wrap(function() permutations({ 1, 2, 3, 4, 5, 6 }) end) do
  count = count + list[1] * list[6]
end
print(count)

local caught = 0
for i = 1, 1000 do
  local ok, problem = pcall(function()
    if i % 7 == 0 then error({ code = i }) end
    return i
  end)
  if not ok then caught = caught + problem.code end
end
print(caught, select("#", table.unpack({ 1, 2, 3 })), string.format("%5.2f|%-6s|%x", math.pi, "ab", 255))
print(pcall(string.rep))
local strings = {}
for i = 1, 5000 do strings[i] = tostring(i * i):reverse():gsub("1", "one") end
print(#table.concat(strings, ","))
collectgarbage()
