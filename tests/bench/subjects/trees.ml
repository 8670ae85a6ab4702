(* trees ROUNDS: what OCaml programs do: balanced trees, hash tables, closures, exceptions, much allocation. *)
module Numbers = Map.Make (Int)

let rec remove_even = function
  | [] -> []
  | n :: rest -> if n land 1 = 0 then remove_even rest else n :: remove_even rest

let find table key = try Hashtbl.find table key with Not_found -> 0

let round seed =
  let table = Hashtbl.create 1000 in
  let tree = ref Numbers.empty in
  for i = 1 to 20000 do
    let key = i * seed mod 7919 in
    Hashtbl.replace table key (find table key + i);
    tree := Numbers.add key i !tree
  done;
  let keys = List.sort compare (Hashtbl.fold (fun key _ all -> key :: all) table []) in
  Numbers.fold (fun key value sum -> sum + (key lxor value)) !tree 0 + List.fold_left ( + ) 0 (remove_even keys)

let () =
  let rounds = int_of_string Sys.argv.(1) in
  let sum = ref 0 in
  for i = 1 to rounds do
    sum := !sum + round (i + 1)
  done;
  Printf.printf "%d\n" !sum
