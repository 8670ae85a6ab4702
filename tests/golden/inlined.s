# Debug information of tests/golden/profiles.cc's program, as a separate debug file: DWARF 4, written by hand. The function
# at 0x1000 is main, into which three others were inlined.

	.section .note.gnu.build-id, "a", @note
	.long 4, 14, 3			# sizes of the name and of the build-id; NT_GNU_BUILD_ID
	.asciz "GNU"
	.ascii "of the program"
	.balign 4

	.section .debug_abbrev
	# number, tag, whether it has children; attributes and their forms; 0, 0
	.byte 1, 0x11, 1, 0x11, 0x01, 0x12, 0x07, 0x10, 0x17, 0, 0				# unit: low_pc, high_pc, stmt_list
	.byte 2, 0x2e, 0, 0x6e, 0x08, 0x3a, 0x0b, 0x3b, 0x05, 0, 0				# function: linkage name, file, line
	.byte 3, 0x2e, 1, 0x03, 0x08, 0x3a, 0x0b, 0x3b, 0x05, 0x11, 0x01, 0x12, 0x07, 0, 0	# function: name, file, line, low_pc, high_pc
	.byte 4, 0x1d, 0, 0x31, 0x13, 0x11, 0x01, 0x12, 0x07, 0, 0				# inlined: origin, low_pc, high_pc
	.byte 0

	.section .debug_info
unit:	.long unit_end - 1f
1:	.short 4
	.long 0
	.byte 8
	.byte 1
	.quad 0x1000, 0x1000
	.long 0
decode:	.byte 2
	.asciz "_Z11decode_thatv"
	.byte 1
	.short 7
pairs:	.byte 2
	.asciz "_ZNSt6vectorISt4pairINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt3mapIiSt13unordered_mapIS6_dSt4hashIS6_ESt8equal_toIS6_ESaIS0_IKS6_dEEESt4lessIiESaIS0_IKiSG_EEEESaISN_EE9push_backERKSN_"
	.byte 2
	.short 1278
size:	.byte 2
	.asciz "_ZNK7größe4wertEi"
	.byte 3
	.short 65001
	.byte 3
	.asciz "main"
	.byte 1
	.short 40
	.quad 0x1000, 16
	.byte 4
	.long decode - unit
	.quad 0x1001, 3
	.byte 4
	.long pairs - unit
	.quad 0x1004, 6
	.byte 4
	.long size - unit
	.quad 0x100a, 1
	.byte 4
	.long size - unit
	.quad 0x100c, 1
	.byte 0, 0
unit_end:

	.section .debug_line
	.long 2f - 1f
1:	.short 4
	.long 4f - 3f
3:	.byte 1, 1, 1, -5, 14, 13
	.byte 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1
	.byte 0
	.asciz "src/main.cc"
	.byte 0, 0, 0
	.asciz "/usr/include/c++/12/bits/stl_vector.h"
	.byte 0, 0, 0
	.asciz "src/größe-with-a-name-that-goes-on-until-nobody-can-see-any-more-what-it-was-for-and-then-some-more.generated.hh"
	.byte 0, 0, 0
	.byte 0
4:
2:
